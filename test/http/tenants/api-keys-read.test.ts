/**
 * A key with scope read sees no secret, whatever it asks: every GET of the OpenAPI document, over a project
 * full of them.
 */
import { expect, test } from "bun:test";
import { type Client, startApp, type TestApp } from "../../kit/app.ts";
import { createSource, knock, readSource } from "../sources/kit.ts";

const PLANTED = {
  entered: "planted-signing-secret-1",
  privateKey: "planted-private-key-2",
  brought: "planted-verification-token-3",
  learned: "planted-hook-secret-4",
  header: "planted-header-value-5",
  typed: "planted-authorization-6",
};

/** Ids by the part of the path that they follow. */
async function fill(app: TestApp): Promise<{ ids: Record<string, string[]>; secrets: string[] }> {
  const { live } = app;
  const sources = [
    await createSource(app, "stripe", { signing_secret: PLANTED.entered }),
    await createSource(app, "braintree", {
      credentials: { public_key: "public", private_key: PLANTED.privateKey },
    }),
    await createSource(app, "notion"),
    await createSource(app, "asana"),
    await createSource(app, "revenuecat", { credentials: { authorization: PLANTED.typed } }),
  ];
  await knock(app, sources[2]?.ingest_path ?? "", `{"verification_token":"${PLANTED.brought}"}`);
  await knock(app, sources[3]?.ingest_path ?? "", "", { "x-hook-secret": PLANTED.learned });
  const endpoint = await live.create<{ id: string; secret: string }>("/v1/endpoints", {
    url: "http://127.0.0.1:9/",
    headers: { authorization: PLANTED.header },
  });
  const event = await live.post("/v1/events", { type: "a.b", data: {} });
  const deliveries = await live.get("/v1/deliveries");
  const [delivery] = deliveries.json["data"] as { id: string }[];
  await live.create("/v1/event-types", { name: "a.b" });
  return {
    ids: {
      sources: sources.map(({ id }) => id),
      endpoints: [endpoint.id],
      events: [String(event.json["id"])],
      deliveries: [delivery?.id ?? ""],
      "event-types": ["a.b"],
      providers: ["notion"],
    },
    secrets: [...Object.values(PLANTED), endpoint.secret, ...sources.map(({ secret }) => secret)],
  };
}

/** Every path that can be read, its parameters filled in. */
async function pathsOf(client: Client, ids: Record<string, string[]>): Promise<string[]> {
  const { json } = await client.get("/openapi.json");
  const paths = Object.entries(json["paths"] as Record<string, Record<string, unknown>>);
  const read = paths.filter(([path, { get }]) => get !== undefined && path.startsWith("/v1/"));
  return read.flatMap(([path]) => {
    const parameter = /^\/v1\/([a-z-]+)\/\{[a-z]+\}/.exec(path)?.[1];
    if (parameter === undefined) return [path];
    return (ids[parameter] ?? []).map((id) => path.replace(/\{[a-z]+\}/, id));
  });
}

test("a key with scope read finds none of the project's secrets in any answer", async () => {
  await using app = await startApp();
  const { ids, secrets } = await fill(app);
  const { key } = await app.live.create<{ key: string }>("/v1/api-keys", { name: "r", scopes: ["read"] });
  const paths = await pathsOf(app.with(null), ids);
  expect(paths.length).toBeGreaterThan(30);
  for (const path of [...paths, ...paths.map((each) => `${each}?limit=250`)]) {
    const { text } = await app.with(key).get(path);
    expect([path, secrets.filter((secret) => text.includes(secret))]).toEqual([path, []]);
  }
  // They were there to be found.
  const shown = await Promise.all(
    (ids["sources"] ?? []).map((id) => readSource(app, { id } as Parameters<typeof readSource>[1])),
  );
  expect(shown.map(({ signing_secret: one, credentials }) => [one, ...Object.values(credentials)])).toEqual([
    ["***"],
    [null, "***", "***"],
    ["***"],
    ["***"],
    [null, "***"],
  ]);
});
