import { expect, test } from "bun:test";
import { ENDPOINT_FIELDS } from "../../../src/client/import/records.ts";
import type { Service } from "../../kit/service.ts";
import type { Person } from "../kit.ts";
import { call, onService } from "../listening.ts";
import { endpoint, lines } from "./lines.ts";

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

interface Row {
  id: string;
  metadata: { sealpost_import?: { id: string } };
  public_key?: string;
}

const endpoints = async () => (await call<{ data: Row[] }>(service, "GET", "/v1/endpoints")).data;

/** The endpoint that was made of a record. */
async function imported(id: string): Promise<Row> {
  const row = (await endpoints()).find(({ metadata }) => metadata.sealpost_import?.id === id);
  if (row === undefined) throw new Error(`no endpoint of ${id}`);
  return row;
}

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

const keyOf = (byte: number) => `whsk_${Buffer.alloc(32, byte).toString("base64")}`;

test("a private key that is another now is told, as its endpoint goes on with the one before", async () => {
  const withKey = (byte: number) =>
    lines(endpoint("60", { private_key: keyOf(byte), signature_versions: ["v1", "v1a"] }));
  await person.types(["import", "ndjson", "--apply"], withKey(1));
  const { public_key: before } = await imported("60");
  for (let run = 0; run < 2; run++) {
    const { exitCode, stdout } = await person.types(["import", "ndjson", "--apply"], withKey(2));
    expect([exitCode, stdout]).toEqual([
      1,
      expect.stringMatching(
        /60: it has another private_key now: delete ep_\w+ in Sealpost, and run this again/,
      ),
    ]);
  }
  expect((await imported("60")).public_key).toBe(before);
  const { exitCode, stdout } = await person.types(["import", "ndjson", "--apply"], withKey(1));
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining("endpoints    0     0        1     0")]);
});

test("what is gone in the record goes here too; what was added here alone stays", async () => {
  const first = { metadata: { team: "a", deep: { x: 1, y: 2 } }, description: "old", event_types: ["a.b"] };
  await person.types(["import", "ndjson", "--apply"], lines(endpoint("70", first)));
  const { id } = await imported("70");
  const own = { metadata: { own: "mine" }, rate_limit_per_second: 7 };
  await call(service, "PATCH", `/v1/endpoints/${id}`, own);
  const then = lines(endpoint("70", { metadata: { deep: { x: 1 }, region: "eu" } }));
  const { stdout } = await person.types(["import", "ndjson", "--apply"], then);
  const names = ["metadata.deep", "metadata.region", "description", "event_types", "metadata.team"];
  expect(stdout).toStartWith(
    `changed    endpoint 70 of cust_7 to http://127.0.0.1:9/70: ${names.join("; ")}\n`,
  );
  const { metadata, ...rest } = await imported("70");
  expect(rest).toMatchObject({ description: null, event_types: null, rate_limit_per_second: 7 });
  const { sealpost_import: _, ...kept } = metadata;
  expect(kept).toEqual({ own: "mine", deep: { x: 1 }, region: "eu" });
});

test("a change of what is not shown is told as that", async () => {
  const withHeader = (value: string) => lines(endpoint("80", { headers: { authorization: value } }));
  await person.types(["import", "ndjson", "--apply"], withHeader("Bearer a"));
  const { stdout } = await person.types(["import", "ndjson"], withHeader("Bearer b"));
  expect(stdout).toContain("/80: a value that is not shown\n");
});

test("one that is disabled there and paused here is as it should be", async () => {
  await person.types(["import", "ndjson", "--apply"], lines(endpoint("90")));
  const { id } = await imported("90");
  await call(service, "POST", `/v1/endpoints/${id}/pause`);
  const { exitCode } = await person.types(["import", "ndjson"], lines(endpoint("90", { disabled: true })));
  expect(exitCode).toBe(0);
});

test("every field that is gone in the record has its default again", async () => {
  const all = {
    ...{ description: "d", event_types: ["a.b"], filter: { data: { n: 1 } }, headers: { "x-a": "1" } },
    ...{ transformations: [{ op: "unwrap", path: "data" }], signature_versions: ["v1", "v1a"] },
    ...{ retry: { schedule: [5] }, timeout_seconds: 7, rate_limit_per_second: 7, max_concurrency: 7 },
    ordering: "fifo",
  };
  await person.types(["import", "ndjson", "--apply"], lines(endpoint("100", all)));
  const { exitCode, stdout } = await person.types(["import", "ndjson", "--apply"], lines(endpoint("100")));
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`/100: ${sorted(Object.keys(all))}\n`)]);
  expect(await imported("100")).toMatchObject({
    ...{ description: null, event_types: null, filter: null, transformations: null, headers: {} },
    ...{ signature_versions: ["v1"], retry: null, timeout_seconds: 15, rate_limit_per_second: null },
    ...{ max_concurrency: 10, ordering: "none" },
  });
});

/** As a report has them: in the order of the fields of a record. */
function sorted(names: readonly string[]): string {
  return ENDPOINT_FIELDS.filter((name) => names.includes(name)).join("; ");
}

test("a field whose default is the same as what the record says is not told as changed", async () => {
  const asDefault = { timeout_seconds: null, max_concurrency: null, ordering: null, headers: {} };
  await person.types(["import", "ndjson", "--apply"], lines(endpoint("110", asDefault)));
  const { stdout } = await person.types(
    ["import", "ndjson"],
    lines(endpoint("110", { ...asDefault, description: "new" })),
  );
  expect(stdout).toContain("/110: description\n");
});

test("a mark that somebody wrote by hand breaks nothing", async () => {
  await person.types(["import", "ndjson", "--apply"], lines(endpoint("120")));
  const { id } = await imported("120");
  for (const fields of [5, ["id", 7, "description"]]) {
    await call(service, "PATCH", `/v1/endpoints/${id}`, {
      metadata: { sealpost_import: { digest: "x", fields } },
    });
    const { exitCode, stdout } = await person.types(["import", "ndjson", "--apply"], lines(endpoint("120")));
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("changed    endpoint 120")]);
  }
});

test("an endpoint of another kind comes along, as where it delivers to is given whole", async () => {
  await person.types(["import", "ndjson", "--apply"], lines(endpoint("130")));
  const sqs = {
    ...{ record: "endpoint", id: "130", consumer_id: "cust_7", kind: "aws_sqs" },
    config: {
      queue_url: "https://sqs.eu-west-1.amazonaws.com/123456789012/q",
      ...{ region: "eu-west-1", access_key_id: "AKIA0", secret_access_key: "s" },
    },
  };
  const { exitCode, stdout } = await person.types(["import", "ndjson", "--apply"], lines(sqs));
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining("changed    endpoint 130")]);
});
