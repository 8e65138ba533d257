/**
 * The genuine request of every provider of the table, posted to the service: an event, then the same one
 * again, never a forged one.
 */
import { describe, expect, test } from "bun:test";
import type { InboundRequest, Provider } from "../../../src/inbound/provider.ts";
import { listProviders } from "../../../src/inbound/providers.ts";
import type { ProviderCase } from "../../inbound/case.ts";
import { CASES } from "../../inbound/cases.ts";
import { headersIn, headersOf, SOURCE_URL } from "../../inbound/kit.ts";
import { appForFile } from "../../kit/for-file.ts";
import type { Reply } from "../kit.ts";
import { type CreatedSource, createSource, eventsOf, knock, readSource } from "../sources/kit.ts";

const app = appForFile();

/**
 * These fetch keys from the provider's own hosts, which no test calls; test/inbound hands them the documents.
 */
const FETCHING = ["aws_sns", "fal", "fireblocks", "google_pubsub", "paypal", "plaid"];

/**
 * Its case signs a query with bare spaces and umlauts, as its toolkit does; no client puts those on the wire.
 */
const UNSENDABLE = ["contentful"];

/** What brings the secret of those where nothing is entered. */
const HANDSHAKES: Readonly<Record<string, (secret: string) => [string, Record<string, string>]>> = {
  asana: (secret) => ["", { "x-hook-secret": secret }],
  notion: (secret) => [JSON.stringify({ verification_token: secret }), {}],
};

function post({ ingest_path }: CreatedSource, request: InboundRequest): Promise<Reply> {
  const { search } = new URL(request.url);
  return knock(app, ingest_path + search, request.body.slice(), headersOf(request));
}

/** A source that verifies with what its case signs with, at the address of the suite. */
async function makeSource(provider: Provider, proof: ProviderCase): Promise<CreatedSource> {
  const { key } = provider;
  const [secret = ""] = proof.secrets;
  const handshake = HANDSHAKES[key];
  const config = {
    ...proof.config,
    ...(provider.configFields.some(({ name }) => name === "public_url") && { public_url: SOURCE_URL }),
  };
  const source = await createSource(app, key, {
    ...(secret !== "" && !handshake && { signing_secret: secret }),
    ...(proof.credentials && { credentials: proof.credentials }),
    config,
  });
  if (handshake) expect((await knock(app, source.ingest_path, ...handshake(secret))).status).toBe(200);
  return source;
}

/** A full second of now: the providers' packages read the clock themselves. */
function now(): number {
  return Math.floor(Date.now() / 1000) * 1000;
}

const provable = listProviders().filter(({ key }) => ![...FETCHING, ...UNSENDABLE].includes(key));

describe("posted to the door", () => {
  test.each(provable.map((provider) => [provider.key, provider] as const))("%s", async (key, provider) => {
    const proof = CASES[key];
    if (!proof) throw new Error(`There is no case for ${key}.`);
    const source = await makeSource(provider, proof);
    const request = await proof.sign(proof.secrets[0] ?? "", now());
    const first = await post(source, request);
    expect([key, Math.floor(first.status / 100)]).toEqual([key, 2]);
    expect((await eventsOf(app, source)).map(({ type }) => type)).toEqual([proof.expected.type]);
    const again = await post(source, request);
    expect(again.status).toBe(first.status);
    expect(await eventsOf(app, source)).toHaveLength(proof.expected.deliveryId === null ? 2 : 1);
    for (const name of proof.requiredHeaders) {
      const headers = new Map([...headersIn(request)].filter(([header]) => header !== name));
      const refused = await post(source, { ...request, headers });
      expect([name, refused.status, refused.text]).toEqual([name, 401, ""]);
    }
    expect((await readSource(app, source)).counters.rejected).toMatchObject({
      missing_header: proof.requiredHeaders.length,
    });
  });
});
