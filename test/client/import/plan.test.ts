import { expect, test } from "bun:test";
import type { Service } from "../../kit/service.ts";
import type { Person } from "../kit.ts";
import { call, onService } from "../listening.ts";
import { endpoint, lines } from "./lines.ts";

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

const endpoints = async () =>
  (await call<{ data: { id: string; metadata: object }[] }>(service, "GET", "/v1/endpoints")).data;

test("the same id twice, and two endpoints of one record, are told", async () => {
  const twice = await person.types(["import", "ndjson", "--apply"], lines(endpoint("30"), endpoint("30")));
  expect([twice.exitCode, twice.stdout]).toEqual([1, expect.stringContaining("it stands there before")]);
  const [made] = await endpoints();
  const body = { url: "http://127.0.0.1:9/x", metadata: made?.metadata };
  await call(service, "POST", "/v1/endpoints", body);
  const { exitCode, stdout } = await person.types(["import", "ndjson"], lines(endpoint("30")));
  expect([exitCode, stdout]).toEqual([1, expect.stringContaining("it is in Sealpost twice: delete ep_")]);
});

test("an endpoint that an earlier run made is not left to deliver in silence once it is disabled there", async () => {
  await person.types(["import", "ndjson", "--apply"], lines(endpoint("40")));
  const { exitCode, stdout } = await person.types(
    ["import", "ndjson"],
    lines(endpoint("40", { disabled: true })),
  );
  expect([exitCode, stdout]).toEqual([
    1,
    expect.stringMatching(/disabled there by now: delete ep_\w+ in Sealpost/),
  ]);
});

test("of an event type that is there, what the record does not mention stays", async () => {
  await call(service, "POST", "/v1/event-types", { name: "a.b", description: "ours", group: "G" });
  const same = lines({ record: "event_type", name: "a.b", group: "G" });
  expect((await person.types(["import", "ndjson"], same)).stdout).toContain(
    "event types  0     0       1     0",
  );
  const other = lines({ record: "event_type", name: "a.b", group: "H", schema: { type: "object" } });
  const changed = await person.types(["import", "ndjson", "--apply"], other);
  expect(changed.stdout).toStartWith("changed    event type a.b: schema, group\n".replace(", ", "; "));
  const type = await call<object>(service, "GET", "/v1/event-types/a.b");
  expect(type).toMatchObject({ description: "ours", group: "H", schema: { type: "object" } });
});

test("what somebody brought along by a file, with what was missing put in, stays as it is, and is told", async () => {
  const filled = lines(endpoint("50", { headers: { authorization: "Bearer x" } }));
  await person.types(["import", "ndjson", "--apply"], filled);
  const hidden = lines(endpoint("50", { headers: { authorization: null } }));
  const { exitCode, stdout } = await person.types(["import", "ndjson", "--apply"], hidden);
  expect([exitCode, stdout]).toEqual([
    1,
    expect.stringMatching(/is not known: put it in; ep_\w+ stays as it is/),
  ]);
});
