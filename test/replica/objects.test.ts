/** Small objects beside a replica: where they lie, and that one caller of many replaces them. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Objects, openObjects } from "../../src/replica/objects.ts";

const NAME = "object.json";
let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sealpost-objects-"));
});
afterEach(() => rmSync(home, { recursive: true }));

function openFolder(): Objects {
  const objects = openObjects(`file://${join(home, "replica")}`, {});
  if (objects === null) throw new Error("no objects");
  return objects;
}

test("other kinds of replicas have no place for them", () => {
  for (const url of ["", "sftp://host/path", "gs://bucket/path", "no url"])
    expect(openObjects(url, {})).toBeNull();
});

describe("in a bucket", () => {
  const credentials = { LITESTREAM_ACCESS_KEY_ID: "KEYID", LITESTREAM_SECRET_ACCESS_KEY: "secret" };

  test("they lie beside the replica, under the credentials that Litestream has", async () => {
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
    const place = openObjects(url, credentials);
    expect(await place?.read(NAME)).toBeNull();
    await place?.write(NAME, "text");
    expect((await place?.read(NAME))?.text).toBe("text");
    expect([...objects.keys()]).toEqual([`/bucket/some/path/${NAME}`]);
    for (const sent of credentialsSent) expect(sent).toContain("KEYID");
  });

  test("a bucket that refuses, or is not there, is no missing object", async () => {
    const answer = (status: number, code: string) => async () =>
      new Response(`<Error><Code>${code}</Code></Error>`, { status });
    for (const [status, code] of [
      [403, "AccessDenied"],
      [404, "NoSuchBucket"],
    ] as const) {
      await using bucket = Bun.serve({ port: 0, fetch: answer(status, code) });
      const place = openObjects(`s3://bucket?endpoint=http://127.0.0.1:${bucket.port}`, credentials);
      await expect(place?.read(NAME)).rejects.toThrow(`the bucket answers ${status} ${code}`);
    }
  });

  test("without credentials nothing is asked", async () => {
    await expect(openObjects("s3://bucket/path", {})?.read(NAME)).rejects.toThrow(/LITESTREAM_ACCESS_KEY_ID/);
  });
});

describe("in a folder", () => {
  test("they are made where there is none", async () => {
    const objects = openFolder();
    expect(await objects.read(NAME)).toBeNull();
    await objects.write(NAME, "text");
    expect(existsSync(join(home, "replica", NAME))).toBe(true);
    expect((await objects.read(NAME))?.text).toBe("text");
  });

  test("one is made once, and replaced by whoever has its last tag", async () => {
    const objects = openFolder();
    const first = await objects.replace(NAME, "1", null);
    expect(await objects.replace(NAME, "other", null)).toBeNull();
    const second = await objects.replace(NAME, "2", first);
    for (const stale of [null, first]) expect(await objects.replace(NAME, "late", stale)).toBeNull();
    expect(await objects.read(NAME)).toEqual({ text: "2", tag: second ?? "" });
    await objects.replace(NAME, "3", second);
    expect((await objects.read(NAME))?.text).toBe("3");
    expect(readdirSync(join(home, "replica"))).toEqual([`${NAME}.3`]);
    await objects.remove(NAME);
    expect(await objects.read(NAME)).toBeNull();
  });

  test("a folder beside them holds something or not", async () => {
    const objects = openFolder();
    expect(await objects.holdsAny("generations")).toBe(false);
    mkdirSync(join(home, "replica/generations/00000001"), { recursive: true });
    expect(await objects.holdsAny("generations")).toBe(true);
  });

  // Processes of their own: within one nothing comes between the steps of a call.
  test("of four processes that replace it at once, no round has two winners", async () => {
    const script = `
      import { openObjects } from ${JSON.stringify(join(import.meta.dir, "../../src/replica/objects.ts"))};
      const objects = openObjects("file://" + process.argv[1], {});
      const won = [];
      while (true) {
        const found = await objects.read("object.json");
        const count = Number(found?.text ?? 0);
        if (count >= 200) break;
        if ((await objects.replace("object.json", String(count + 1), found?.tag ?? null)) !== null) won.push(count + 1);
      }
      console.log(won.join());`;
    const folder = join(home, "replica");
    const run = () =>
      Bun.spawn([process.execPath, "-e", script, folder], { stdout: "pipe", stderr: "inherit" });
    const children = Array.from({ length: 4 }, run);
    const lists = await Promise.all(children.map((child) => new Response(child.stdout).text()));
    const won = lists.flatMap((text) => text.trim().split(",").filter(Boolean));
    expect(new Set(won).size).toBe(won.length);
    expect(won.length).toBeGreaterThan(100);
  });
});
