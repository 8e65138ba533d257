import { expect, test } from "bun:test";
import type { Service } from "../../kit/service.ts";
import type { Person } from "../kit.ts";
import { call, onService } from "../listening.ts";
import { endpoint, lines, SECRET } from "./lines.ts";

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

test("a line tells what is done with a record, and none what stays; the sum counts both", async () => {
  await call(service, "POST", "/v1/event-types", { name: "a.b" });
  const text = lines(
    { record: "event_type", name: "a.b" },
    { record: "event_type", name: "a.c", without: ["its flags"] },
    { record: "consumer", id: "cust_7" },
    endpoint("1"),
    endpoint("2", { cannot: ["it is odd", "and old"] }),
  );
  const { stdout } = await person.types(["import", "ndjson"], text);
  expect(stdout).toBe(`make       event type a.c, without its flags
make       endpoint 1 of cust_7 to http://127.0.0.1:9/1
leave out  endpoint 2 of cust_7 to http://127.0.0.1:9/2: it is odd; and old

             make  change  keep  leave out
event types  1     0       1     0
endpoints    1     0       0     1
consumers: 1, and nothing to make: each begins with its first endpoint or event
Nothing is written yet: --apply does it
`);
});

test("as JSON each record has a line, with the id of the endpoint where there is one", async () => {
  const text = lines({ record: "event_type", name: "a.b" }, endpoint("1"));
  const { stdout } = await person.types(["import", "ndjson", "--json", "--apply"], text);
  const told = { reasons: [], without: [], applied: true };
  const counts = { make: 0, change: 0, keep: 0, leave_out: 0 };
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { step: "keep", record: "event_type", name: "a.b", ...told },
    {
      ...{ step: "make", record: "endpoint", id: "1", consumer_id: "cust_7", url: "http://127.0.0.1:9/1" },
      ...{ endpoint_id: expect.stringMatching(/^ep_/), ...told },
    },
    {
      sum: { event_types: { ...counts, keep: 1 }, endpoints: { ...counts, make: 1 }, consumers: 0 },
      applied: true,
    },
  ]);
});

test("no text of the other service steers the terminal, and no secret is printed", async () => {
  const text = lines(endpoint("\u001b[2J", { headers: { authorization: "Bearer hidden" } }));
  const { stdout } = await person.types(["import", "ndjson"], text);
  expect(stdout).toStartWith("make       endpoint ?[2J of cust_7");
  for (const secret of [SECRET, "hidden"]) expect(stdout).not.toContain(secret);
});

test("as JSON no text of the other service steers the terminal either, and it means the same", async () => {
  const id = "a\u009b31mred\u202e\u{e0001}";
  const { stdout } = await person.types(["import", "ndjson", "--json"], lines(endpoint(id)));
  const [first = ""] = stdout.split("\n");
  expect(first).toContain(String.raw`"id":"a\u009b31mred\u202e\udb40\udc01"`);
  expect(JSON.parse(first)).toMatchObject({ id });
});
