/**
 * What comes again is what came before, also without what it is known by: where a proof is taken once, it is
 * known by the proof and the body.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { InboundRequest } from "../../src/inbound/provider.ts";
import { findProvider, PROVIDER_ROWS } from "../../src/inbound/providers.ts";
import { type Identity, KnownEvents } from "../../src/pipeline/known.ts";
import { openTestData, type TestData } from "../kit/data.ts";
import { CASES } from "./cases.ts";
import { headersIn, keysOf, textOf, withBody, withoutHeader } from "./kit.ts";
import { genuine, materialFor, receive } from "./outcome.ts";

let it: TestData;
beforeAll(async () => {
  it = await openTestData();
});
afterAll(() => it[Symbol.asyncDispose]());

async function identityOf(key: string, request: InboundRequest): Promise<Identity | null> {
  const [document = null] = Object.values(CASES[key]?.keyDocuments ?? {});
  const reception = await receive(key, request, materialFor(key), keysOf(document));
  if (reception.kind !== "event") return null;
  const { deliveryId, dedupSeconds: keptSeconds, proof } = reception;
  return { deliveryId, keptSeconds, proof };
}

/** The header of a repeat that is not signed, by which some are known where the body has no id. */
const idHeaders = (key: string) => findProvider(key)?.unsignedHeaders.map((name) => name.toLowerCase()) ?? [];

/** The genuine one, and where its body is not signed the same without any id. */
async function sentOf(key: string): Promise<InboundRequest[]> {
  const request = await genuine(key);
  const nameless = textOf(request).replaceAll(/"(?:id|messageId)":(?:\d+|"[^"]*"),?/g, "");
  return [request, withBody(request, nameless)];
}

describe("a request that comes again, without its id too, is the first event", () => {
  test.each(PROVIDER_ROWS.filter(({ proofTakenOnce }) => proofTakenOnce).map(({ key }) => key))(
    "%s",
    async (key) => {
      let walked = 0;
      for (const [at, request] of (await sentOf(key)).entries()) {
        const incoming = {
          sourceId: PROVIDER_ROWS.findIndex((row) => row.key === key) * 2 + at,
          externalId: null,
          // Nothing is known by its data alone.
          data: '{"other":true}',
        };
        const identity = await identityOf(key, request);
        if (identity === null) continue;
        walked++;
        const known = (one: Identity) => new KnownEvents(it.data, it.project.id, one);
        const id = await it.data.store.write(() => {
          const made = it.insertEvent();
          known(identity).remember(incoming, made);
          return made;
        });
        const others = [...headersIn(request).keys()].filter((name) => idHeaders(key).includes(name));
        for (const other of [request, ...others.map((name) => withoutHeader(request, name))]) {
          const again = await identityOf(key, other);
          expect(again).not.toBeNull();
          expect(again && known(again).find(incoming)?.id).toBe(id);
        }
        expect(known({ ...identity, deliveryId: null }).find(incoming)?.id).toBe(id);
      }
      expect(walked).toBeGreaterThan(0);
    },
  );
});
