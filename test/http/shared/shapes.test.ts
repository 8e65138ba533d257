/** The names that customers and operators give: a consumer is the same one wherever it is named. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { TestApp } from "../../kit/app.ts";
import { createTenant, operatorOf, startOperated, type Tenant } from "../../kit/operator.ts";
import { expectFault } from "../endpoints/kit.ts";

let app: TestApp;
let tenant: Tenant;

beforeAll(async () => {
  app = await startOperated();
  tenant = await createTenant(app);
});

afterAll(() => app[Symbol.asyncDispose]());

/** A destination that nothing is sent to. */
const POLLED = { kind: "poll", config: {} };

/** Everything that names a consumer. */
const NAMES_CONSUMER: readonly (readonly [string, Record<string, unknown>])[] = [
  ["/v1/endpoints", POLLED],
  ["/v1/events", { type: "a.b", data: {} }],
  ["/v1/sources", { provider: "service", name: "x" }],
  ["/v1/portal-links", {}],
  ["/v1/replays", { dry_run: true }],
];

const UNKEPT = [
  ["a line break", "a\nb"],
  ["a NUL", "a\0b"],
  ["a control character of Latin-1", "a\u0085b"],
  ["half of a surrogate pair", "a\ud800"],
  ["more characters than it may", "😀".repeat(257)],
] as const;

/** What no path can name: clients take it out before they send. */
const PATH_DOTS = [
  ["a dot", "."],
  ["two dots", ".."],
] as const;

describe("a consumer", () => {
  test.each([...UNKEPT, ...PATH_DOTS])(
    "with %s for a name is refused wherever it is named",
    async (_, consumer_id) => {
      for (const [path, fields] of NAMES_CONSUMER)
        expectFault(await tenant.live.post(path, { ...fields, consumer_id }), "/consumer_id");
    },
  );

  test.each(["...", ".a", "a/..", "%2e", "?"])(
    "of the name %s can be named in a path",
    async (consumer_id) => {
      for (const [path, fields] of NAMES_CONSUMER) {
        const { status } = await tenant.live.post(path, { ...fields, consumer_id });
        expect([path, status < 300]).toEqual([path, true]);
      }
      const { status, json } = await tenant.live.delete(`/v1/consumers/${encodeURIComponent(consumer_id)}`);
      expect([status, json["consumer_id"]]).toEqual([202, consumer_id]);
    },
  );

  test("of as many characters as it may have, each of two halves, is taken wherever it is named", async () => {
    const consumer_id = "😀".repeat(256);
    for (const [path, fields] of NAMES_CONSUMER) {
      const { status } = await tenant.live.post(path, { ...fields, consumer_id });
      expect([path, status < 300]).toEqual([path, true]);
    }
    for (const list of ["endpoints", "events", "deliveries", "portal-links"]) {
      const { json } = await tenant.live.get(`/v1/${list}?consumer_id=${encodeURIComponent(consumer_id)}`);
      expect([list, json["data"]]).toMatchObject([list, [{}]]);
    }
  });
});

describe("a name", () => {
  test.each(UNKEPT)("with %s is refused", async (_, name) => {
    const operator = operatorOf(app);
    expectFault(await operator.post("/v1/operator/accounts", { name }), "/name");
    expectFault(
      await operator.post(`/v1/operator/accounts/${tenant.id}/projects`, { name, mode: "live" }),
      "/name",
    );
    expectFault(await tenant.live.post("/v1/api-keys", { name }), "/name");
    expectFault(await tenant.live.post("/v1/sources", { provider: "service", name }), "/name");
    expectFault(await tenant.live.patch("/v1/project", { name }), "/name");
    expectFault(await tenant.live.patch("/v1/project", { branding: { name } }), "/branding/name");
    expectFault(await tenant.live.post("/v1/event-types", { name: "a.b", group: name }), "/group");
  });
});
