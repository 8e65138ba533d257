/** In which turns a request to a source goes on. */
import { expect, spyOn, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import { TurnQueue } from "../../../src/core/structures/turn-queue.ts";
import { receptionOf } from "../../../src/http/sources/reception.ts";
import { type Fetched, KeyCache } from "../../../src/inbound/keys.ts";
import { CASES } from "../../inbound/cases.ts";
import { NOW_MS, textOf, withBody } from "../../inbound/kit.ts";
import { openTestData } from "../../kit/data.ts";
import { plainSource } from "../../kit/source.ts";

const AT_ONCE = 5;

test("heavy requests that waited for one document of keys go on in turns of their own", async () => {
  await using it = await openTestData();
  const proof = CASES["fireblocks"];
  if (!proof) throw new Error("There is no case for fireblocks.");
  const fields = { ...plainSource, provider: "fireblocks", config: proof.config ?? {} };
  const source = await it.data.store.write(() =>
    it.data.sources.insert({ ...fields, projectId: it.project.id }),
  );
  const genuine = await proof.sign("", NOW_MS);
  using ownTurn = spyOn(TurnQueue.prototype, "ownTurn");
  const turnsOf = async (body: string) => {
    ownTurn.mockClear();
    const { promise, resolve } = Promise.withResolvers<Fetched>();
    const cache = new KeyCache({ monotonicMs: () => NOW_MS, fetchDocument: () => promise });
    const services = { ...it.data, wallNow: () => NOW_MS };
    const receptions = Array.from({ length: AT_ONCE }, () =>
      receptionOf(services, cache, source, withBody(genuine, body), {
        takeRoom: () => {},
        bodyFor: () => {},
      }),
    );
    const [text = ""] = Object.values(proof.keyDocuments ?? {});
    resolve({ kind: "document", text, maxAgeSeconds: null });
    const reasons = (await Promise.all(receptions)).map((each) => each.kind === "refused" && each.reason);
    return { reasons: [...new Set(reasons)], turns: ownTurn.mock.calls.length };
  };
  const forged = `${textOf(genuine)}${" ".repeat(limit("lightBodyBytesMax"))}`;
  expect(await turnsOf(forged)).toEqual({ reasons: ["bad_signature"], turns: AT_ONCE });
  expect(await turnsOf(`${textOf(genuine)} `)).toEqual({ reasons: ["bad_signature"], turns: 0 });
});
