/** No endpoint leads back to the service: what is sent there would come back as an event. */
import { expect, test } from "bun:test";
import { createGuard, UNSAFE_DESTINATION } from "../../src/transport/guard.ts";
import { fakeResolver } from "./kit.ts";

const guard = createGuard({
  allow: ["127.0.0.0/8", "::1/128"],
  resolver: fakeResolver({}),
  ownAddresses: ["127.0.0.1"],
  self: { baseUrl: "https://hooks.example.com", port: () => 8080 },
});
const based = createGuard({
  allow: [],
  resolver: fakeResolver({}),
  ownAddresses: [],
  self: { baseUrl: "https://example.com/hooks/", port: () => null },
});

const LEADING_HERE = {
  "loopback.example.net": ["127.0.0.1"],
  "another.example.net": ["127.0.0.9"],
  "six.example.net": ["::1"],
  "mapped.example.net": ["::ffff:127.0.0.1"],
  "mapped-hex.example.net": ["::ffff:7f00:1"],
  "unspecified.example.net": ["0.0.0.0"],
  "public.example.net": ["93.184.216.34"],
  "private.example.net": ["10.0.0.5"],
  "mixed.example.net": ["10.0.0.6", "93.184.216.34"],
};

test.each(Object.keys(LEADING_HERE))(
  "%s, a name that leads to where it listens, is refused at save and at send, whatever is allowed",
  async (name) => {
    let port: number | null = 8080;
    const lenient = createGuard({
      allow: ["0.0.0.0/0", "::/0"],
      resolver: fakeResolver(LEADING_HERE),
      ownAddresses: ["93.184.216.34", "10.0.0.5"],
      self: { baseUrl: "https://hooks.example.com", port: () => port },
    });
    const url = `http://${name}:8080/ingest/src_1`;
    expect(await lenient.checkDestination(url, (ask) => ask())).toEqual({
      ok: false,
      reason: UNSAFE_DESTINATION,
    });
    expect(await lenient.pin(new URL(url))).toEqual({ kind: "blocked" });
    expect((await lenient.checkDestination(`http://${name}:9000/`, (ask) => ask()))?.ok).toBe(true);
    port = 80;
    expect(await lenient.pin(new URL(`http://${name}/`))).toEqual({ kind: "blocked" });
    expect(await lenient.pin(new URL(`https://${name}/`))).toMatchObject({ kind: "pinned" });
    port = null;
    expect(await lenient.pin(new URL(`http://${name}/`))).toMatchObject({ kind: "pinned" });
  },
);

test("an address that IPv6 maps is the one that it maps", async () => {
  const lenient = createGuard({
    allow: ["::/0"],
    self: { baseUrl: "https://hooks.example.com", port: () => 8080 },
  });
  for (const host of ["[::ffff:127.0.0.1]", "[::ffff:7f00:2]", "[::ffff:0.0.0.0]", "[::]", "[::1]"]) {
    expect([host, lenient.checkUrl(`http://${host}:8080/`).ok]).toEqual([host, false]);
    expect([host, lenient.checkUrl(`http://${host}:8081/`).ok]).toEqual([host, true]);
  }
});

test.each([
  "https://hooks.example.com/ingest/src_1",
  "https://HOOKS.example.com./x",
  "http://hooks.example.com/ingest/src_1",
  "https://hooks.example.com:443/",
  "http://hooks.example.com:8080/ingest/src_1",
  "http://127.0.0.1:8080/ingest/src_1",
  "http://2130706433:8080/",
  "http://127.0.0.2:8080/",
  "http://0.0.0.0:8080/",
  "http://[::1]:8080/",
])("this service is refused as a destination: %s", (text) => {
  expect(guard.checkUrl(text).ok).toBe(false);
  expect(guard.isSelf(new URL(text))).toBe(true);
});

test.each(["https://hooks.example.com:8443/", "https://example.com/", "http://127.0.0.1:9000/"])(
  "what stands beside this service is another: %s",
  (text) => expect(guard.isSelf(new URL(text))).toBe(false),
);

test("what lies below the path of the base URL is this service, and no more", () => {
  const spellings = [
    "//hooks/x",
    "/%68ooks/x",
    "/hooks//x",
    "/x/..%2fhooks/",
    "/.%2fhooks/",
    "/x%5c..%5chooks/",
  ];
  for (const path of ["/hooks/ingest/src_1", ...spellings])
    expect([path, based.isSelf(new URL(`https://example.com${path}`))]).toEqual([path, true]);
  expect(based.isSelf(new URL("https://example.com/shop"))).toBe(false);
  for (const path of ["/hooks2/receiver", "/hooks-in", "/hook"])
    expect([path, based.isSelf(new URL(`https://example.com${path}`))]).toEqual([path, false]);
});
