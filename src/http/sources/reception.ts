import type { Source } from "../../core/model.ts";
import { isHeavy } from "../../core/structures/turn-queue.ts";
import type { KeyCache } from "../../inbound/keys.ts";
import type { InboundRequest, ReadingMeans, Reception } from "../../inbound/provider.ts";
import { turnsOf } from "../../store/project-turns.ts";
import type { Needs } from "../framework/services.ts";
import { providerOf } from "./change.ts";
import { materialOf } from "./material.ts";

/**
 * What a source makes of a request, whether it came to its door or is a sample, which may have come `at`
 * another time. Nothing is stored, and nothing counted but what the body unpacks to, in its `room`.
 */
export async function receptionOf(
  services: Needs<"wallNow" | "store" | "tenants">,
  keys: KeyCache,
  source: Source,
  request: InboundRequest,
  room: Pick<ReadingMeans, "takeRoom">,
  at = services.wallNow(),
): Promise<Reception> {
  const provider = providerOf(source);
  const material = materialOf(provider, source, services.wallNow());
  const turns = turnsOf(services, source.projectId);
  // All that waited for a document are told at one instant: each heavy one goes on in a turn of its own.
  const afterKeys = isHeavy(request.body.length) ? { next: () => turns.ownTurn() } : turns;
  const means: ReadingMeans = {
    giveWay: (bytes) => turns.giveWay(bytes),
    takeRoom: (bytes) => room.takeRoom(bytes),
  };
  const reception = await provider.receive(
    request,
    material,
    at,
    keys.readerFor(source.id, afterKeys),
    means,
  );
  const isEarly = reception.kind === "event" && provider.isAwaiting(material);
  return isEarly ? { kind: "refused", reason: "awaiting_secret" } : reception;
}
