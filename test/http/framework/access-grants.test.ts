/**
 * Who may call what with a portal token, over every operation of the OpenAPI document, those that come later
 * included: what is closed to it answers 403, what needs a grant answers 403 without it, and an id of another
 * consumer answers as one that nothing has.
 */
import { beforeAll, expect, test } from "bun:test";
import type { Client } from "../../kit/app.ts";
import { appForFile, receiverForFile } from "../../kit/for-file.ts";
import type { Reply } from "../kit.ts";

interface Operation {
  method: string;
  path: string;
  /** What a portal token needs for it; null: no portal token may. */
  grant: "read" | "manage" | "create" | null;
}

interface Described {
  security?: Record<string, unknown>[];
  description: string;
}

const app = appForFile();
const receiver = receiverForFile();
let operations: Operation[];
/** A path of each object that belongs to somebody else, by the path's beginning. */
let foreign: Record<string, string>;

const UNKNOWN: Readonly<Record<string, string>> = {
  endpoints: "ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  events: "evt_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  deliveries: "msg_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  replays: "rpl_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
};

beforeAll(async () => {
  const { json } = await app.with(null).get("/openapi.json");
  operations = readOperations(json["paths"] as Record<string, Record<string, Described>>);
  foreign = await makeForeign();
});

function readOperations(paths: Record<string, Record<string, Described>>): Operation[] {
  return Object.entries(paths)
    .filter(([path]) => path.startsWith("/v1/"))
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, { security = [], description }]): Operation => {
        const isOpen = security.some((scheme) => "portal_token" in scheme);
        const named = /portal token with the grant `(\w+)`/.exec(description)?.[1] ?? "read";
        return { method: method.toUpperCase(), path, grant: isOpen ? (named as "manage") : null };
      }),
    );
}

/** An endpoint of Bert's, an event that it got, and a replay of his. */
async function makeForeign(): Promise<Record<string, string>> {
  const url = receiver.url("bert");
  const { id: endpoints = "" } = await app.live.create("/v1/endpoints", { url, consumer_id: "bert" });
  const event = await app.live.post("/v1/events", { type: "a", data: {}, consumer_id: "bert" });
  await receiver.arrived("bert");
  const events = String(event.json["id"]);
  const bert = await linkOf({ consumer_id: "bert", manage: true });
  const replay = await bert.post("/v1/replays", { status: ["dead"] });
  const deliveries = await app.until(async () => {
    const { json } = await app.live.get(`/v1/deliveries?event_id=${events}`);
    return (json["data"] as { id: string }[])[0]?.id;
  });
  return { endpoints, events, deliveries, replays: String(replay.json["id"]) };
}

async function linkOf(body: Record<string, unknown>): Promise<Client> {
  const { url = "" } = await app.live.create("/v1/portal-links", body);
  return app.with(url.slice(url.indexOf("#") + 1));
}

const call = (client: Client, { method }: Operation, path: string): Promise<Reply> =>
  client.send(method, path, method === "POST" || method === "PATCH" ? { json: {} } : {});

const unknownPath = (path: string) =>
  path
    .replace(
      /^\/v1\/(\w[\w-]*)\/\{(\w+)\}/,
      (_whole, noun: string) => `/v1/${noun}/${UNKNOWN[noun] ?? "none"}`,
    )
    .replaceAll(/\{\w+\}/g, "none");

test("the document says of every operation whether a portal token may", () => {
  const open = operations.filter(({ grant }) => grant !== null);
  expect(open.length).toBeGreaterThan(20);
  expect(operations.length - open.length).toBeGreaterThan(15);
});

test.each([
  ["that only reads", { consumer_id: "anna" }, ["read"]],
  ["over the whole project", {}, ["read"]],
  ["that manages", { consumer_id: "anna", manage: true }, ["read", "manage"]],
  ["that creates", { consumer_id: "anna", create: true }, ["read", "create"]],
])("a link %s is refused whatever it was not granted", async (_name, body, grants) => {
  const client = await linkOf(body);
  for (const operation of operations) {
    const { status } = await call(client, operation, unknownPath(operation.path));
    const isGranted = operation.grant !== null && grants.includes(operation.grant);
    // Operator's calls ask for another kind of token.
    const isRefused = status === 403 || (status === 401 && operation.path.startsWith("/v1/operator"));
    expect([operation.method, operation.path, isRefused]).toEqual([
      operation.method,
      operation.path,
      !isGranted,
    ]);
  }
});

test("what belongs to another consumer answers as what is not there", async () => {
  const anna = await linkOf({ consumer_id: "anna", manage: true, create: true });
  let tried = 0;
  for (const operation of operations) {
    const [, noun = ""] = /^\/v1\/(\w+)\/\{id\}/.exec(operation.path) ?? [];
    const id = foreign[noun];
    if (operation.grant === null || id === undefined) continue;
    const [theirs, nobodys] = [
      await call(anna, operation, operation.path.replace("{id}", id)),
      await call(anna, operation, operation.path.replace("{id}", UNKNOWN[noun] ?? "")),
    ];
    expect([operation.method, operation.path, theirs.status]).toEqual([
      operation.method,
      operation.path,
      404,
    ]);
    expect({ ...theirs.json, request_id: "" }).toEqual({ ...nobodys.json, request_id: "" });
    tried++;
  }
  expect(tried).toBeGreaterThan(15);
});
