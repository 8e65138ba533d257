/** Every answer that the OpenAPI document promises occurs: one test for each. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openApi } from "../../kit/app.ts";
import { expectProblem } from "../kit.ts";
import { CAUSES, OWN, succeeding } from "./causes.ts";
import { type Documented, documentedAnswers, nameOf, Walk } from "./kit.ts";

const DOCUMENTED = documentedAnswers(await openApi());
const STATES = ["rate_limited", "internal", "unavailable"];
const seen = new Set<string>();

/** Promised as for every POST, but their answers are there before a second request can come. */
const INSTANT = ["previewEndpoint", "inferSchema", "verifySample"];
/** Needs a replica, which the service of this walk does not have: test/http/tenants/moves.test.ts. */
const BEYOND_REPLICA: Readonly<Record<string, readonly string[]>> = {
  moveAccounts: ["", "conflict", "idempotency_in_progress", "idempotency_key_reused", "internal"],
  updateAccount: ["conflict"],
  createProject: ["conflict"],
  createProjectApiKey: ["conflict"],
};
const isMet = ({ operation: { operationId: name }, code }: Documented) =>
  !BEYOND_REPLICA[name]?.includes(code) && (code !== "idempotency_in_progress" || !INSTANT.includes(name));

let walk: Walk;

beforeAll(async () => {
  walk = await Walk.start();
  for (const operation of new Set(DOCUMENTED.map((answer) => answer.operation)))
    await walk.prepare(operation);
});

afterAll(() => walk[Symbol.asyncDispose]());

function answers(of: (answer: Documented) => boolean): void {
  test.each(
    DOCUMENTED.filter((answer) => isMet(answer) && of(answer)).map(
      (answer) => [nameOf(answer), answer] as const,
    ),
  )("%s", async (name, answer) => {
    const { operation, status, code } = answer;
    const own = OWN[`${operation.operationId} ${code || status}`];
    const cause = own ?? (code === "" ? succeeding(status) : CAUSES[code]);
    if (cause === undefined) throw new Error(`nothing makes it answer ${code}: see statuses-causes.ts`);
    const reply = await cause(walk, operation);
    expect([reply.status, reply.text]).toEqual([status, reply.text]);
    if (code !== "") expectProblem(reply, status, code);
    seen.add(name);
  });
}

describe("a service that runs answers", () => answers(({ code }) => !STATES.includes(code)));

describe("a service whose part throws answers", () => {
  beforeAll(() => walk.quiet());
  answers(({ code }) => code === "internal");
});

describe("a service that takes one request a second answers", () => {
  beforeAll(() => walk.limitRates());
  afterAll(() => walk.unlimitRates());
  answers(({ code }) => code === "rate_limited");
});

describe("a service that is stopping answers", () => {
  let letGo: () => Promise<void>;
  beforeAll(async () => {
    letGo = await walk.drain();
  });
  afterAll(() => letGo());
  answers(({ code }) => code === "unavailable");
});

describe("the OpenAPI document", () => {
  test("promises no answer that was not received", () => {
    expect(
      DOCUMENTED.filter(isMet)
        .map(nameOf)
        .filter((name) => !seen.has(name)),
    ).toEqual([]);
  });
});
