/**
 * Where the texts of every kind's config lead: what becomes part of a URL stays what it is there, and no host
 * is reached that the guard was not asked for.
 */
import { describe, expect, test } from "bun:test";
import { expectFault } from "../../http/endpoints/kit.ts";
import { appForFile } from "../../kit/for-file.ts";
import { addressesOf, type Answer, type Ask } from "../../../src/destinations/destination.ts";
import type { UrlParts } from "../../../src/transport/url-parts.ts";
import { answerOf, atOnce, type KindCase, messageAt } from "./case.ts";
import { askOf, CASES, fileOf, kindOf } from "./cases.ts";

type Config = Readonly<Record<string, unknown>>;

const PRIVATE_URL = "http://169.254.169.254/latest/meta-data/";
const NOW_MS = Date.UTC(2026, 10, 21, 9);
const MESSAGE = messageAt(NOW_MS);

/** What a URL folds away, or takes for the end of a part. */
const PIECES = [".", "..", "%2e%2e", "a/./b", "a/../b", "../a", "a/..", "a&b=c", "a#b", "a?b", "a+b", "%26"];
const TEMPLATES = ["{id}/../b", "{id}&b=c", "{id}#b", "{id}?b", "{id}+b", "{id}%26"];

/** A private host as a field may hold it: alone, in a URL, and so that what a kind adds to it is no host. */
const PRIVATE = ["10.7.7.7", "sealpost.internal"].flatMap((host) =>
  [host, `${host}:443`, `http://${host}`, `${host}/`, `${host}?`, `${host}#`, `x@${host}/`].map((text) => ({
    host,
    text,
  })),
);

const app = appForFile();

/** What the URL made with `text` in the place of `before` says instead of it; null where it says that. */
function misspelled(usual: UrlParts, url: UrlParts, before: string, text: string): string | null {
  // A template's {id} is replaced.
  const spelled = [text, text.replace("{id}", MESSAGE.id)];
  const hasText = (part: string) => spelled.some((whole) => part.includes(whole));
  const path = decodeURIComponent(url.pathname);
  if (path !== decodeURIComponent(usual.pathname) && !hasText(path)) return `the path is ${path}`;
  const [values, others] = [new URLSearchParams(usual.search), new URLSearchParams(url.search)];
  const isWhole =
    [...values.keys()].join("&") === [...others.keys()].join("&") &&
    [...values].every(([name, value]) => {
      const other = others.get(name) ?? "";
      return other === value || !value.includes(before) || hasText(other);
    });
  return isWhole ? null : `the query is ${url.search}`;
}

/** The hosts that a message leads to: those of whoever is asked before, and the request's own. */
async function hostsOf(proof: KindCase, config: Config): Promise<string[]> {
  const hosts: string[] = [];
  const answered = askOf(proof);
  const ask: Ask = (request) => {
    hosts.push(request.url.hostname);
    return answered(request);
  };
  try {
    hosts.push((await kindOf(proof).request(config, MESSAGE, NOW_MS, ask, atOnce)).url.hostname);
  } catch {
    // That no request can be made of it is refused elsewhere: destinations.test.ts.
  }
  return hosts;
}

describe.each(CASES.map((proof) => [proof.kind, proof] as const))("%s", (_kind, proof) => {
  const create = (config: unknown) => app.live.post("/v1/endpoints", { kind: proof.kind, config });
  const kind = kindOf(proof);
  const texts = kind.fields.filter(({ type }) => type !== "boolean");
  const optional = kind.fields.flatMap(({ name, required }) => (required ? [] : [name]));

  /** Each right config whole, without any optional field, and without each of them. */
  const leftOut = [...new Set(["", optional.join(), ...optional])].map((names) => names.split(","));
  const configs: Config[] = [proof.config, ...(proof.others ?? [])].flatMap((config) =>
    leftOut.map((left) =>
      Object.fromEntries(Object.entries(config).filter(([name]) => !left.includes(name))),
    ),
  );

  test("a text in the path or the query stands there whole: else it has a pattern, or goes through encodeURIComponent", async () => {
    let answer: Answer | undefined;
    const first: Ask = async (request) => (answer = await askOf(proof)(request));
    const again: Ask = () => Promise.resolve(answer ?? answerOf({ status: 500 }));
    const urlOf = async (config: Config, ask: Ask) =>
      (await kind.request(config, MESSAGE, NOW_MS, ask, atOnce)).url;
    const usual = await urlOf({ ...proof.config }, first);
    const broken: string[] = [];
    for (const { name } of texts) {
      for (const text of [...PIECES, ...TEMPLATES]) {
        const config = { ...proof.config, [name]: text };
        if ((await create(config)).status === 422) continue;
        const how = misspelled(usual, await urlOf(config, again), String(proof.config[name]), text);
        if (how !== null) broken.push(`${name}: ${text} is stored, and ${how}`);
      }
    }
    expect(broken).toEqual([]);
  });

  test("every field that is an address is guarded, whatever else is given, and every address inside others", async () => {
    for (const { name } of texts.filter(({ address }) => address)) {
      const unsafe = { ...proof.config, [name]: PRIVATE_URL };
      for (const left of [null, ...optional.filter((other) => other !== name)])
        expectFault(
          await create(left === null ? unsafe : { ...unsafe, [left]: null }),
          `/config/${name}`,
          "unsafe_destination",
        );
    }
    // The others are derived from their field: the case shows one that is refused.
    const fields = configs.flatMap((config) => addressesOf(kind, config).map(({ field }) => field));
    const given = new Set(texts.flatMap(({ name, address }) => (address ? [name] : [])));
    const unsafe = (proof.refused ?? []).filter(({ code }) => code === "unsafe_destination");
    const shown = new Set(unsafe.map(({ pointer }) => pointer));
    const missing = [...new Set(fields)].filter((name) => !given.has(name) && !shown.has(`/config/${name}`));
    const told = (name: string) => `${fileOf(proof.kind)}: \`refused\` lacks ${name}, unsafe_destination`;
    expect(missing.map(told)).toEqual([]);
  });

  test("a text that becomes the host of a request is guarded, whatever optional field is left out", async () => {
    const unguarded: string[] = [];
    const given = configs.flatMap((config) => texts.map(({ name }) => ({ config, name })));
    for (const { config: base, name } of given) {
      for (const { host, text } of PRIVATE) {
        const config = { ...base, [name]: text };
        if (!(await hostsOf(proof, config)).includes(host)) continue;
        const { status, json } = await create(config);
        if (status === 422 && json.errors?.some(({ pointer }) => pointer === `/config/${name}`)) continue;
        const others = Object.keys(config).join(", ");
        unguarded.push(`\`addresses\` lacks ${name}: of ${others}, ${text} is answered with ${status}`);
      }
    }
    expect(unguarded).toEqual([]);
  });
});
