/**
 * The page of every provider is made from its row, says what the row says, and its command makes a source
 * that works.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isByAddressAlone } from "../../src/inbound/provider.ts";
import { listProviders } from "../../src/inbound/providers.ts";
import { CASES } from "../inbound/cases.ts";
import { expectPlain, textOf } from "../kit/doc-page.ts";
import { appForFile } from "../kit/for-file.ts";
import { type Service, startService } from "../kit/service.ts";
import { requireTool } from "../kit/tools.ts";
import { terminalOf } from "../readme/blocks.ts";
import { Shell } from "../readme/shell.ts";

const hasCurl = requireTool("curl", "apt-get install curl");
const providers = listProviders();
const named = providers.map((provider) => [provider.key, provider] as const);

/** Nothing to enter, and nothing to verify with before the provider's own handshake. */
const AWAITING = ["asana", "notion"];

const app = appForFile();

async function pageOf(key: string): Promise<string> {
  const { status, headers, text } = await app.with(null).get(`/docs/providers/${key}`);
  expect([key, status, headers.get("content-type")]).toEqual([key, 200, "text/html; charset=utf-8"]);
  expect(headers.get("content-security-policy")).toStartWith("default-src 'none'; style-src 'self';");
  return text;
}

function commandIn(page: string): string {
  return textOf(/<code class="language-bash">([^]*?)<\/code>/.exec(page)?.[1] ?? "");
}

test.each(named)("the page of %s says all that its row says", async (key, provider) => {
  const page = await pageOf(key);
  const { docs, fields, configFields, headers, handshakes, verifiedWith } = provider;
  const proof = "package" in verifiedWith ? verifiedWith.package : verifiedWith.page;
  const said = [
    ...[
      provider.name,
      docs.addressAt,
      docs.secretAt,
      docs.page,
      proof,
      provider.checks,
      provider.typeExample,
    ],
    ...[provider.eventType, provider.deliveryId].filter((text) => text !== "none"),
    ...[...docs.pitfalls, ...headers, ...handshakes],
    ...[...fields, ...configFields].flatMap(({ name, label, help }) => [name, label, help]),
  ];
  const text = textOf(page);
  expect(said.filter((part) => !text.includes(part))).toEqual([]);
  expectPlain(page);
  expect(page).not.toMatch(/undefined|\[object/);
  expect(text.includes("could not be checked")).toBe(!docs.isChecked);
});

test("the example of a type is the one that the suite's genuine request has", () => {
  const differing = providers.flatMap(({ key, typeExample }) => {
    const type = CASES[key]?.expected.type;
    const places = "`typeExample` of its row in src/inbound/providers/, or `expected.type` of its case";
    return type === typeExample
      ? []
      : [`${key}: ${typeExample} is not ${type}; change ${places} in test/inbound/cases/`];
  });
  expect(differing).toEqual([]);
});

test("a row whose genuine request is a form says so, and no other says that it always is", async () => {
  for (const { key, form } of providers) {
    const proof = CASES[key];
    const request = await proof?.sign(proof.secrets[0] ?? "", Date.now());
    const type = request?.headers.get("content-type") ?? "";
    const isForm = /^(multipart\/form-data|application\/x-www-form-urlencoded)/.test(type);
    expect([key, isForm]).toEqual([key, form === "sometimes" ? isForm : form === "always"]);
  }
});

test("the page of an alias is that of its provider, and nobody else has one", async () => {
  expect(await pageOf("whatsapp")).toBe(await pageOf("meta"));
  expect((await app.with(null).get("/docs/providers/nobody")).status).toBe(404);
  expect((await app.with(null).get("/docs/providers/__proto__")).status).toBe(404);
});

test("a page that is not there leads a browser back, and tells a program so", async () => {
  for (const path of ["/docs/nothing", "/docs/providers/nobody"]) {
    const { status, headers, text } = await app
      .with(null)
      .send("GET", path, { headers: { accept: "text/html,*/*" } });
    expect([status, headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
    expect(text).toContain(`<a href="/docs/providers">`);
    expect((await app.with(null).get(path)).headers.get("content-type")).toBe("application/problem+json");
  }
});

test("the list is sorted as people look through it, whatever is written small", async () => {
  const { text } = await app.with(null).get("/docs/providers");
  const names = [...text.matchAll(/<a href="\/docs\/providers\/[^"]*">([^<]*)</g)].map(([, name = ""]) =>
    name.toLowerCase(),
  );
  expect(names.indexOf("monday.com")).toBeLessThan(names.indexOf("notion"));
  expect(names.indexOf("fal.ai")).toBeLessThan(names.indexOf("github"));
});

test("who signs nothing is not said to be verified", async () => {
  const alone = providers.filter(isByAddressAlone).map(({ key }) => key);
  expect(alone).toEqual(["mailchimp"]);
  for (const { key } of providers) {
    expect([key, (await pageOf(key)).includes("keep that secret")]).toEqual([key, alone.includes(key)]);
  }
});

test("the list leads to every page, the API's document to the list, and the API to each page", async () => {
  const { text } = await app.with(null).get("/docs/providers");
  const links = [...text.matchAll(/href="\/docs\/providers\/([^"]*)"/g)].map(([, key = ""]) => key);
  expect(links.toSorted()).toEqual(providers.map(({ key }) => key).toSorted());
  expect((await app.with(null).get("/openapi.json")).text).toContain("(/docs/providers)");
  const { json } = await app.live.get("/v1/providers/stripe");
  expect(String(json["docs_url"])).toEndWith("/docs/providers/stripe");
});

describe.skipIf(!hasCurl)("the command of a page, typed as it stands", () => {
  let service: Service;
  let shell: Shell;

  beforeAll(async () => {
    const env = terminalOf(commandIn(await pageOf("stripe")));
    expect(env).toHaveProperty("TEST_KEY");
    service = await startService({ env: { ...env, SEALPOST_MANAGEMENT_RATE_LIMIT: "0" } });
    shell = new Shell();
    await shell.run(`TEST_KEY=${service.keys.test}\n`);
  });

  afterAll(async () => {
    await shell[Symbol.asyncDispose]();
    await service.close();
  });

  test.each(named)("makes a source of %s that can verify", async (key) => {
    const command = commandIn(await pageOf(key)).replaceAll("http://localhost:8080", service.url);
    const ran = await shell.run(command);
    expect([ran.exitCode, ran.stderr]).toEqual([0, ""]);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      provider: key,
      status: AWAITING.includes(key) ? "awaiting_secret" : "active",
      ingest_url: expect.stringContaining("/ingest/src_"),
    });
  });
});
