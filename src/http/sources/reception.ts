import { sourceMember } from "../../core/caller.ts";
import type { Source } from "../../core/model.ts";
import { isHeavy } from "../../core/structures/turn-queue.ts";
import type { KeyCache } from "../../inbound/keys.ts";
import type { InboundRequest, ReadingMeans, Reception } from "../../inbound/provider.ts";
import { turnsOf } from "../../store/project-turns.ts";
import type { RequestContext } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { providerOf } from "./change.ts";
import { materialOf } from "./material.ts";

/**
 * What a source makes of a request, whether it came to its door or is a sample, which may have come `at`
 * another time. Nothing is stored. Once it waits for anything of the source, or is found genuine, its body
 * is the source's: it is counted in the room of its account, and so is what it unpacks to.
 */
export async function receptionOf(
  services: Needs<"wallNow" | "store" | "tenants">,
  keys: KeyCache,
  source: Source,
  request: InboundRequest,
  came: Pick<RequestContext, "takeRoom" | "bodyFor">,
  at = services.wallNow(),
): Promise<Reception> {
  const provider = providerOf(source);
  const material = materialOf(provider, source, services.wallNow());
  const turns = turnsOf(services, source.projectId);
  const accountId = services.tenants.accountIdOf(source.projectId);
  const own = () => came.bodyFor(accountId, sourceMember(source.id));
  // All that waited for a document are told at one instant: each heavy one goes on in a turn of its own.
  const afterKeys = isHeavy(request.body.length) ? { next: () => turns.ownTurn() } : turns;
  const means: ReadingMeans = {
    giveWay(bytes) {
      own();
      return turns.giveWay(bytes);
    },
    takeRoom(bytes) {
      own();
      came.takeRoom(bytes);
    },
  };
  const reception = await provider.receive(
    request,
    material,
    at,
    keys.readerFor(source.id, afterKeys, own),
    means,
  );
  if (reception.kind !== "refused") own();
  const isEarly = reception.kind === "event" && provider.isAwaiting(material);
  return isEarly ? { kind: "refused", reason: "awaiting_secret" } : reception;
}
