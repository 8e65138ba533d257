/**
 * Secrets that an older key encrypted are encrypted by the first key, slice by slice, and nobody
 * notices meanwhile.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cipher } from "../../../src/core/cipher.ts";
import { type Data, openData } from "../../../src/store/data.ts";
import { openDatabase } from "../../../src/store/database.ts";
import { plainEndpoint } from "../../kit/endpoint.ts";
import { plainSource } from "../../kit/source.ts";
import { storeParts } from "../../kit/store-parts.ts";

const OLD = new Uint8Array(32).fill(1);
const NEW = new Uint8Array(32).fill(2);
const ENDPOINTS = 120;
let dir = "";

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-sealing-"));
});

afterEach(() => rmSync(dir, { recursive: true }));

/** The database as one start sees it; what it leaves is what a crash would leave. */
async function withKeys<T>(
  keys: [Uint8Array, ...Uint8Array[]],
  run: (data: Data) => Promise<T> | T,
): Promise<T> {
  const disk = openDatabase(dir);
  const data = openData(disk.sqlite, storeParts(), { cipher: new Cipher(keys), cell: "00" });
  try {
    return await run(data);
  } finally {
    disk.close();
  }
}

function prepare(): Promise<void> {
  return withKeys([OLD], async ({ tenants, endpoints, store }) => {
    await tenants.createFirstAccount(() => {});
    const [project] = [...tenants.projects()];
    const made = await store.write(() =>
      Array.from({ length: ENDPOINTS }, (_, at) =>
        endpoints.insert({ ...plainEndpoint, projectId: project?.id ?? 0, secret: `whsec_${at}` }),
      ),
    );
    for (const endpoint of made) endpoints.announce(endpoint);
    await endpoints.change(made[0]?.id ?? 0, () => ({ status: "deleted" }));
  });
}

async function finish({ sealing }: Data): Promise<void> {
  while (sealing.isDue) await sealing.step();
}

test("all that an old key encrypted, deleted things too, opens by the new key alone after a rotation", async () => {
  await prepare();
  await withKeys([NEW, OLD], async (data) => {
    expect(data.sealing.left).toBe(ENDPOINTS);
    await finish(data);
    expect(data.sealing.left).toBe(0);
  });
  await withKeys([NEW], ({ endpoints, sealing, store }) => {
    expect(sealing.isDue).toBe(false);
    const ids = store.sqlite.query<{ id: number }, []>("SELECT id FROM endpoint ORDER BY id").all();
    expect(ids.map(({ id }) => endpoints.getAnyway(id)?.secret)).toEqual(
      Array.from({ length: ENDPOINTS }, (_, at) => `whsec_${at}`),
    );
  });
});

test("a step is bounded, and a start that comes after a crash goes on with what is left", async () => {
  await prepare();
  const left = await withKeys([NEW, OLD], async ({ sealing }) => {
    expect(await sealing.step()).toBeLessThan(ENDPOINTS);
    return sealing.left;
  });
  expect(left).toBeGreaterThan(0);
  await withKeys([NEW, OLD], async (data) => {
    expect(data.sealing.left).toBe(left);
    await finish(data);
    expect(data.sealing.left).toBe(0);
  });
});

test("what is changed between two steps keeps its change", async () => {
  await prepare();
  await withKeys([NEW, OLD], async (data) => {
    const last = [...data.endpoints.all()].at(-1)?.id ?? 0;
    await data.sealing.step();
    await data.endpoints.change(last, () => ({ secret: "whsec_changed" }));
    await finish(data);
  });
  await withKeys([NEW], ({ endpoints }) => {
    expect([...endpoints.all()].at(-1)?.secret).toBe("whsec_changed");
  });
});

test("what needs a key that is not there is left as it is and counted", async () => {
  await prepare();
  await withKeys([NEW, OLD], async ({ sealing }) => {
    await sealing.step();
  });
  // Only the deleted one, as a start opens all the others.
  await withKeys([OLD, NEW], (data) => finish(data));
  await withKeys([OLD], async ({ store }) => {
    await store.write(() => store.sqlite.run("UPDATE endpoint SET status = 'deleted'"));
  });
  await withKeys([NEW], async (data) => {
    await finish(data);
    expect(data.sealing.left).toBe(ENDPOINTS);
  });
  await withKeys([OLD], ({ endpoints, store }) => {
    const { id = 0 } =
      store.sqlite.query<{ id: number }, []>("SELECT min(id) AS id FROM endpoint").get() ?? {};
    expect(endpoints.getAnyway(id)?.secret).toBe("whsec_0");
  });
});

test("every table with a ciphertext is encrypted anew", async () => {
  await prepare();
  await withKeys([OLD], async ({ store, sources, tenants }) => {
    const [project] = [...tenants.projects()];
    const fields = { projectId: project?.id ?? 0, signingSecret: "sk_old" };
    await store.write(() => sources.insert({ ...plainSource, ...fields }));
  });
  await withKeys([NEW, OLD], finish);
  await withKeys([NEW], ({ store, sources }) => {
    const tables = store.sqlite
      .query<{ name: string }, []>(
        "SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND c.name = 'sealed'",
      )
      .all();
    expect(tables.map(({ name }) => name).toSorted()).toEqual(["endpoint", "source"]);
    const row = store.sqlite.query<{ id: number }, []>("SELECT id FROM source").get();
    expect(sources.get(row?.id ?? 0)?.signingSecret).toBe("sk_old");
  });
});
