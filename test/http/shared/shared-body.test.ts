/** What anybody may ask for: made and unpacked once, and one body for all answers. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { DOC_PAGES } from "../../../src/http/docs/pages.ts";
import { madeOnce, sharedBody } from "../../../src/http/shared/shared-body.ts";
import type { Answer, AnyRoute, RequestContext } from "../../../src/http/framework/route.ts";
import { portalPageRoutes } from "../../../src/http/portal/page.ts";
import { systemRoutes } from "../../../src/http/system.ts";
import { buildPortal } from "../../../src/platform/portal-build.ts";
import { startServer, TestParts } from "../kit.ts";

/** A body of its own may have as much as costs no more than its socket. */
const SMALL_BYTES = 8192;

const ENCODINGS = ["identity", "gzip", "br, gzip"];
const project = { portalOrigins: [] };
const services = { ids: { decode: () => 1 }, tenants: { project: () => project, residenceOf: () => "here" } };
const routes = [
  ...systemRoutes([], new TestParts()),
  ...portalPageRoutes(services as unknown as Parameters<typeof portalPageRoutes>[0]),
].filter(({ access, method }) => access === "none" && method === "GET");

const ASSETS = [
  "swagger-ui-bundle.js",
  "swagger-ui.css",
  "pages.css",
  "start.js",
  "search.js",
  "search.json",
  "portal-overview.png",
];
/** What stands in for the last part of a path. */
const PARAMETERS: Readonly<Record<string, () => Promise<string[]> | string[]>> = {
  "/docs/assets/:file": () => ASSETS,
  "/docs/:page": () => [...DOC_PAGES.keys(), "destinations", "providers", "tour.md"],
  "/docs/providers/:key": () => ["stripe", "github", "stripe.md"],
  "/portal/assets/:file": async () => (await buildPortal()).files.map(({ name }) => name),
  "/portal/:project_id": () => ["proj_1"],
};

async function ask(route: AnyRoute, value: string | null, encoding: string): Promise<Answer> {
  const name = /:(\w+)$/.exec(route.path)?.[1];
  const request = new Request(`http://a${route.path}`, { headers: { "accept-encoding": encoding } });
  const params = name === undefined || value === null ? {} : { [name]: value };
  return route.handle({ request, params } as unknown as RequestContext);
}

afterEach(() => spyOn(Bun, "gunzipSync").mockRestore());

/** One body for both answers, or a body that is small. */
function isCheap(one: Answer, other: Answer): boolean {
  if (one.body instanceof Blob) return one.body === other.body;
  return new Blob([(one.body as string | undefined) ?? JSON.stringify(one.json ?? "")]).size < SMALL_BYTES;
}

test("every large answer that anybody may ask for is one body, unpacked once", async () => {
  const unpack = spyOn(Bun, "gunzipSync");
  for (const route of routes) {
    const values = route.path.includes(":") ? ((await PARAMETERS[route.path]?.()) ?? []) : [null];
    expect([route.path, values]).not.toEqual([route.path, []]);
    const asked = values.flatMap((value) => ENCODINGS.map((encoding) => ({ value, encoding })));
    for (const { value, encoding } of asked) {
      const one = await ask(route, value, encoding);
      const unpacked = unpack.mock.calls.length;
      const other = await ask(route, value, encoding);
      const facts = [isCheap(one, other), unpack.mock.calls.length - unpacked];
      expect([route.path, value, encoding, ...facts]).toEqual([route.path, value, encoding, true, 0]);
    }
  }
}, 60_000);

test("a large one is written in a turn of the loop that it has for itself", async () => {
  await using server = startServer([]);
  const ownTurn = spyOn(server.parts.turns, "ownTurn");
  for (const [path, turns] of [
    ["/docs/assets/swagger-ui-bundle.js", 1],
    ["/docs/assets/start.js", 0],
  ] as const) {
    ownTurn.mockClear();
    expect((await fetch(server.url + path)).status).toBe(200);
    expect([path, ownTurn.mock.calls.length]).toEqual([path, turns]);
  }
});

/** Bun copies bytes for each answer, and a text that is no ASCII: 100 of them nobody reads. */
test("answers that nobody reads share their body", async () => {
  const body = sharedBody("ä".repeat(4_000_000));
  await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(body) });
  const before = process.memoryUsage.rss();
  const sockets = await Promise.all(
    Array.from({ length: 100 }, () =>
      Bun.connect({
        hostname: "127.0.0.1",
        port: server.port ?? 0,
        socket: {
          open(socket) {
            socket.pause();
            socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
          },
          data() {},
        },
      }),
    ),
  );
  while (server.pendingRequests < 100) await Bun.sleep(1);
  await Bun.sleep(50);
  expect(process.memoryUsage.rss() - before).toBeLessThan(200_000_000);
  for (const socket of sockets) socket.terminate();
});

test("what could not be made is made anew", async () => {
  let asked = 0;
  const make = madeOnce(async () => {
    if (++asked === 1) throw new Error("no file is left");
    return asked;
  });
  expect(make()).rejects.toThrow("no file is left");
  await Bun.sleep(0);
  expect([await make(), await make()]).toEqual([2, 2]);
});
