/** What `deploy/` says of the service is what the service knows. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import manifest from "../../package.json";
import { SETTINGS } from "../../src/config.ts";
import { COMPOSE_FILE } from "../kit/compose.ts";
import { VERSITYGW_TARGET } from "../kit/aws-servers.ts";

const repository = join(import.meta.dir, "../..");
const paths = [...new Bun.Glob("deploy/**/*").scanSync({ cwd: repository })].toSorted();
const texts = await Promise.all(
  paths.map(async (path) => ({ path, text: await Bun.file(join(repository, path)).text() })),
);
const litestream = await Bun.file(join(repository, "litestream.yml")).text();

/** Where a name of this form stands that is not known. */
function findUnknown(form: RegExp, known: ReadonlySet<string>): string[] {
  return texts.flatMap(({ path, text }) =>
    [...text.matchAll(form)].filter(([name]) => !known.has(name)).map(([name]) => `${path}: ${name}`),
  );
}

describe("deploy", () => {
  test("has all four", () => {
    const folders = new Set(paths.map((path) => path.split("/")[1]));
    expect([...folders]).toEqual(["compose", "helm", "kubernetes", "systemd"]);
  });

  test("names no setting that the service does not know", () => {
    const known = new Set(Object.values(SETTINGS).map(({ name }) => name));
    expect(findUnknown(/\b(SEALPOST|OTEL)_[A-Z_]*[A-Z]\b/g, known)).toEqual([]);
    // The reader sees them.
    expect(findUnknown(/\bSEALPOST_[A-Z_]*[A-Z]\b/g, new Set()).length).toBeGreaterThan(30);
  });

  test("names no setting of Litestream that its configuration does not", () => {
    const named = new Set(litestream.match(/\bLITESTREAM_[A-Z_]+\b/g));
    expect(findUnknown(/\bLITESTREAM_[A-Z_]*[A-Z]\b/g, named.add("LITESTREAM_CONFIG"))).toEqual([]);
  });

  test("the chart has the version of the service", () => {
    const chart = Bun.YAML.parse(texts.find(({ path }) => path.endsWith("Chart.yaml"))?.text ?? "");
    expect(chart).toMatchObject({ version: manifest.version, appVersion: manifest.version });
  });

  test("no secret is a value of the chart", () => {
    const schema = texts.find(({ path }) => path.endsWith("values.schema.json"))?.text ?? "";
    const { settings } = (JSON.parse(schema) as { properties: Record<string, Json> }).properties;
    const refused = settings?.propertyNames?.not.enum ?? [];
    const secret = Object.values(SETTINGS)
      .map(({ name }) => name)
      .filter((name) => /_(KEY|TOKEN|HEADERS)$/.test(name));
    expect(secret.length).toBeGreaterThan(2);
    expect(secret.filter((name) => !refused.includes(name))).toEqual([]);
  });

  test("Compose builds the versitygw that the tests run", async () => {
    expect(await Bun.file(COMPOSE_FILE).text()).toContain(`go install ${VERSITYGW_TARGET}\n`);
  });
});

interface Json {
  propertyNames?: { not: { enum: string[] } };
}
