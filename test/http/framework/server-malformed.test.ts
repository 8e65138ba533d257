/**
 * Requests that no well-kept client sends, as bytes on a socket: each is answered, none by a fault of ours.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sendRaw, startServer, TestParts, type TestServer } from "../kit.ts";
import { testRoutes } from "../routes.ts";

let server: TestServer;

beforeAll(() => {
  server = startServer(testRoutes);
});

afterAll(() => server.stop(0));

interface Row {
  name: string;
  method?: string;
  target?: string;
  /** null: none. */
  host?: string | null;
  headers?: string[];
  version?: string;
  body?: string;
  /** 0: the connection is closed without an answer. */
  status: number;
  /** By whom: ours have a request id; the others never reach a handler, and Bun gives them no body. */
  by: "us" | "Bun";
}

const PATH = "/v1/things/a";
const LONG = "a".repeat(300);

const unreadableHosts = [
  "",
  " ",
  "a b",
  "[",
  "[::1",
  "::1",
  "a:b",
  "a:99999",
  ":80",
  "a/b",
  "a?b",
  "a#b",
  "a@b",
  "@",
];
const oddHosts = [
  "\\",
  "//",
  "a^b",
  "<b>",
  "\x80",
  "ä",
  "a%zz",
  "999.999.999.999",
  "1.2.3.4.5",
  "xn--a",
  "a,b",
];
const rareHosts = ["a", "A", "my_service:8080", "[::1]:80", "a..b", "0x7f.1", "a.", LONG];
const refusedMethods = ["PUT", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "M-SEARCH", "QUERY", "LOCK"];
const droppedMethods = ["FOO", "get", "Get", "PRI", "A".repeat(100)];
const badLengths = ["-1", "abc", "1, 2", "99999999999999999999", "0x1"].map(
  (text) => `Content-Length: ${text}`,
);
const badHeaders = ["Bad Name: x", ": x", "x", "X: a\r\n folded", "X: \x00", "Transfer-Encoding: gzip"];
const oddHeaders = ["X: \x7f", "Content-Type: \x80", "Expect: foo", "Upgrade: h2c", "Content-Encoding: \xff"];

const rows: Row[] = [
  ...[...unreadableHosts, ...oddHosts].map(
    (host): Row => ({ name: `the Host ${JSON.stringify(host)}`, host, status: 400, by: "us" }),
  ),
  ...rareHosts.map((host): Row => ({ name: `the Host ${host.slice(0, 20)}`, host, status: 200, by: "us" })),
  { name: "two Hosts", headers: ["Host: b"], status: 400, by: "us" },
  { name: "no Host", host: null, status: 400, by: "Bun" },
  { name: "no Host in HTTP/1.0", host: null, version: "HTTP/1.0", status: 400, by: "us" },
  { name: "HTTP/1.0", version: "HTTP/1.0", status: 200, by: "us" },
  { name: "HTTP/2.0 in the clear", version: "HTTP/2.0", status: 505, by: "Bun" },
  { name: "no version", version: "", status: 505, by: "Bun" },
  ...refusedMethods.map((method): Row => ({ name: `the method ${method}`, method, status: 405, by: "us" })),
  ...droppedMethods.map(
    (method): Row => ({ name: `the method ${method.slice(0, 20)}`, method, status: 0, by: "Bun" }),
  ),
  { name: "CONNECT to a host", method: "CONNECT", target: "example.com:443", status: 400, by: "us" },
  { name: "CONNECT to a name", method: "CONNECT", target: "example", status: 400, by: "us" },
  { name: "CONNECT to what looks like a URL", method: "CONNECT", target: "http:80", status: 400, by: "us" },
  { name: "a whole URL", target: `http://other.example${PATH}`, status: 200, by: "us" },
  { name: "a whole URL with a wrong port", target: `http://b:99999${PATH}`, status: 200, by: "us" },
  { name: "a URL that breaks off", target: "http://[", status: 302, by: "us" },
  { name: "the URL of another scheme", target: `ftp://b${PATH}`, status: 400, by: "Bun" },
  ...["*", "", "?x", "v1/things/a", "b:80"].map(
    (target): Row => ({ name: `the target ${JSON.stringify(target)}`, target, status: 400, by: "Bun" }),
  ),
  ...["//", `/${PATH}`, `${PATH}\\b`, "/v1/things/%", "/v1/things/%ff", "//user@b/"].map(
    (target): Row => ({ name: `the target ${target}`, target, status: 404, by: "us" }),
  ),
  {
    name: "broken percent-encoding behind the question mark",
    target: `${PATH}?x=%zz`,
    status: 422,
    by: "us",
  },
  { name: "a fragment", target: `${PATH}#x`, status: 200, by: "us" },
  { name: "a fragment behind a path without parameters", target: "/healthz#x", status: 404, by: "us" },
  { name: "bytes that are no UTF-8 in the path", target: `${PATH}\xff`, status: 200, by: "us" },
  { name: "a control character in the path", target: "/\x01", status: 505, by: "Bun" },
  ...[...badLengths, ...badHeaders].map(
    (header): Row => ({ name: JSON.stringify(header), headers: [header], status: 400, by: "Bun" }),
  ),
  { name: "20 KB of headers", headers: [`X: ${"a".repeat(20_000)}`], status: 431, by: "Bun" },
  ...oddHeaders.map(
    (header): Row => ({ name: JSON.stringify(header), headers: [header], status: 200, by: "us" }),
  ),
  {
    name: "a chunk without a length",
    method: "POST",
    headers: ["Content-Type: application/json", "Transfer-Encoding: chunked"],
    body: "zz\r\n{}\r\n0\r\n\r\n",
    status: 400,
    by: "Bun",
  },
];

function bytesOf({
  method = "GET",
  target = PATH,
  host = "a",
  headers = [],
  version = "HTTP/1.1",
  body = "",
}: Row) {
  const lines = [
    `${method} ${target} ${version}`.trimEnd(),
    ...(host === null ? [] : [`Host: ${host}`]),
    ...headers,
    "Authorization: Bearer full",
    "Idempotency-Key: k",
    "Connection: close",
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`, "latin1");
}

describe("a request with", () => {
  test.each(rows.map((row) => [row.name, row] as const))("%s", async (_name, row) => {
    const answer = await sendRaw(server.port, bytesOf(row));
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0);
    const by = answer.toLowerCase().includes("\r\nx-request-id: ") ? "us" : "Bun";
    expect([status, by, /\.[mt]s:|node_modules/.test(answer)]).toEqual([row.status, row.by, false]);
    expect(server.parts.failures).toEqual([]);
  });

  test.each(unreadableHosts)("the Host %j and a key that holds its answer is refused too", async (host) => {
    const lines = [
      "POST /v1/small HTTP/1.1",
      `Host: ${host}`,
      "Authorization: Bearer full",
      "Idempotency-Key: k",
    ];
    const head = [
      ...lines,
      "Content-Type: application/json",
      "Content-Length: 12",
      "Connection: close",
      "",
      "",
    ];
    const answer = await sendRaw(server.port, `${head.join("\r\n")}{"name":"a"}`);
    expect(answer).toStartWith("HTTP/1.1 400 ");
    expect(answer).toContain('"code":"malformed_request"');
  });
});

describe("the headers that protect", () => {
  const paths = ["/", "/docs", "/nowhere", PATH, "/healthz", "/v1/fails/throws", "/docs/assets/start.js"];

  test("nosniff is on every answer, and HSTS where the service is reached by https", async () => {
    for (const baseUrl of ["https://hooks.example.com", "http://localhost:8080"]) {
      const parts = new TestParts();
      parts.baseUrl = baseUrl;
      await using other = startServer(testRoutes, parts);
      for (const path of paths) {
        const { headers } = await other.send("GET", path);
        expect([path, headers.get("x-content-type-options")]).toEqual([path, "nosniff"]);
        const expected = baseUrl.startsWith("https:") ? "max-age=31536000" : null;
        expect(headers.get("strict-transport-security")).toBe(expected);
      }
    }
  });
});

describe("a path beside a wider one", () => {
  test("names its own methods, and is none of the wider one", async () => {
    for (const [method, path, allow] of [
      ["PUT", "/v1/things/a", "DELETE, GET, HEAD, PATCH, POST"],
      ["PUT", "/v1/things/all", "GET, HEAD"],
      ["DELETE", "/v1/things/all", "GET, HEAD"],
      ["POST", "/v1/things/all", "GET, HEAD"],
    ] as const) {
      const { status, headers } = await server.send(method, path, method === "POST" ? { json: {} } : {});
      expect([method, path, status, headers.get("allow")]).toEqual([method, path, 405, allow]);
    }
    expect((await server.send("GET", "/v1/things/all")).json.all).toBe(true);
  });
});
