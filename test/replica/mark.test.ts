/** Who a mark lets write, and where it lies. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { judge, type Mark, openMarkStore, type Own, readMark } from "../../src/replica/mark.ts";

describe("a mark", () => {
  const own: Own = { installation: "db", writer: "here", start: 3, beat: 30 };
  const there: Mark = {
    installation: "db",
    writer: "there",
    host: "h",
    start: 3,
    beat: 30,
    ended: false,
    at: "t",
  };
  const cases: [what: string, mark: Mark | null, own: Own, may: string][] = [
    ["none", null, own, "write"],
    ["one's own, however it ended", { ...there, writer: "here" }, own, "write"],
    ["another directory's that has ended", { ...there, ended: true }, own, "write"],
    ["another directory's that may live", there, own, "wait"],
    ["another database's", { ...there, installation: "other" }, own, "not"],
    ["another database's that has ended", { ...there, installation: "other", ended: true }, own, "not"],
    ["of a later start", { ...there, start: 4 }, own, "not"],
    ["of a later start that has ended", { ...there, start: 4, ended: true }, own, "not"],
    ["of a later beat", { ...there, beat: 31 }, own, "not"],
    ["of a later beat of this directory", { ...there, writer: "here", beat: 31 }, own, "not"],
    ["where there is no database", there, { installation: null, writer: "here", start: 0, beat: 0 }, "not"],
  ];
  for (const [what, given, self, may] of cases)
    test(`${what}: ${may}`, () => {
      expect(judge(given, self).may).toBe(may as "write");
    });

  test("that is no mark is none", () => {
    for (const text of ["", "null", "{}", "[]", '{"installation": 1}', "{"])
      expect(readMark(text)).toBeNull();
  });

  test("lies in a bucket under the credentials that Litestream has", async () => {
    const credentialsSent: (string | null)[] = [];
    const objects = new Map<string, string>();
    await using bucket = Bun.serve({
      port: 0,
      async fetch(request) {
        credentialsSent.push(request.headers.get("authorization"));
        const { pathname } = new URL(request.url);
        if (request.method === "PUT") objects.set(pathname, await request.text());
        const body = objects.get(pathname);
        if (body !== undefined) return new Response(body);
        const missing = "<Error><Code>NoSuchKey</Code><Message>none</Message></Error>";
        return new Response(missing, { status: 404, headers: { "content-type": "application/xml" } });
      },
    });
    const url = `s3://bucket/some/path?region=eu-central-1&endpoint=http://127.0.0.1:${bucket.port}`;
    const credentials = { LITESTREAM_ACCESS_KEY_ID: "KEYID", LITESTREAM_SECRET_ACCESS_KEY: "secret" };
    const store = openMarkStore(url, credentials);
    expect(await store?.read()).toBeNull();
    await store?.write("text");
    expect(await store?.read()).toBe("text");
    expect([...objects.keys()]).toEqual(["/bucket/some/path/sealpost-writer.json"]);
    for (const sent of credentialsSent) expect(sent).toContain("KEYID");
  });

  test("of a folder is made where there is none", async () => {
    const home = mkdtempSync(join(tmpdir(), "sealpost-mark-"));
    const store = openMarkStore(`file://${join(home, "replica")}`, {});
    expect(await store?.read()).toBeNull();
    await store?.write("text");
    expect(existsSync(join(home, "replica/sealpost-writer.json"))).toBe(true);
    rmSync(home, { recursive: true });
  });
});
