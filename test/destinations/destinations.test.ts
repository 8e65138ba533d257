/** One suite over the table of destination kinds: a row without a case fails. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { ATTEMPT_ERROR_CODES } from "../../src/core/attempt-error.ts";
import type { Fault } from "../../src/core/errors.ts";
import { DESTINATION_ERRORS } from "../../src/core/destination-errors.ts";
import { limit } from "../../src/core/limits.ts";
import { UNEXPECTED } from "../../src/destinations/answers.ts";
import { isCredentialHeader } from "../../src/destinations/credential-headers.ts";
import {
  addressesOf,
  type Answer,
  type Ask,
  isProtocolHeader,
  type KindRow,
  type Message,
  type OutgoingRequest,
  Unprepared,
} from "../../src/destinations/destination.ts";
import { listKinds } from "../../src/destinations/destinations.ts";
import { requestHeadOf } from "../../src/destinations/request-head.ts";
import { webhookHeadersOf } from "../../src/destinations/requests.ts";
import { readDestination, requireSafeDestination } from "../../src/http/endpoints/destination.ts";
import type { AddressJudges } from "../../src/http/shared/saved-address.ts";
import type { Guard } from "../../src/transport/guard.ts";
import { renderHead } from "../../src/transport/request.ts";
import { expectFault } from "../http/endpoints/kit.ts";
import { appForFile } from "../kit/for-file.ts";
import { INHERITED, respelled } from "../kit/respelled.ts";
import { type AnswerCase, answerOf, atOnce, type KindCase, messageAt, SECRET } from "./kinds/case.ts";
import { askOf, CASES, fileOf, kindOf, PUSHED } from "./kinds/cases.ts";

const MASK = "***";
/** More than is kept of what a destination says. */
const LONG = "x".repeat(16_000);
const NOW_MS = Date.UTC(2026, 10, 21, 9);

const app = appForFile();

const credentialsOf = (proof: KindCase): string[] =>
  kindOf(proof).fields.flatMap(({ name, secret }) => {
    const value = proof.config[name];
    return secret && typeof value === "string" ? [value] : [];
  });

/** The text, once for each of its words, with that one made long. */
const lengthened = (text: string) => respelled(text, (word) => word + LONG);

/** The answer, once for each word of its headers' values and of its body and each such name in its place. */
function spellings({ status, headers = {}, body = "" }: AnswerCase): Answer[] {
  return INHERITED.flatMap((name) => [
    ...respelled(body, () => name).map((other) => answerOf({ status, headers, body: other })),
    ...Object.entries(headers).flatMap(([header, value]) =>
      respelled(value, () => name).map((other) =>
        answerOf({ status, headers: { ...headers, [header]: other }, body }),
      ),
    ),
  ]);
}

async function render(proof: KindCase, now: number, config = proof.config): Promise<OutgoingRequest> {
  return await kindOf(proof).request({ ...config }, messageAt(now), now, askOf(proof), atOnce);
}

/** No header takes one of the first two as it is, and no URL the third, which is half a character. */
const STRANGE = ["\n", "€", "\ud800"];
const PLACES_MAX = 32;
/** What a message shows of a text that may be long. */
const SHOWN_LENGTH = 40;

/** A right config with one of them in one of its texts: at the ends, and at places spread over the text. */
function spoiled(config: KindCase["config"]) {
  return Object.entries(config).flatMap(([field, value]) => {
    if (typeof value !== "string") return [];
    const gaps = Math.min(value.length, PLACES_MAX - 1);
    const places = Array.from({ length: gaps + 1 }, (_, at) => Math.round((at * value.length) / gaps));
    const texts = STRANGE.flatMap((one) => places.map((at) => value.slice(0, at) + one + value.slice(at)));
    return texts.map((text) => ({
      field,
      text: JSON.stringify(text),
      config: { ...config, [field]: text },
    }));
  });
}

async function canBeSent(proof: KindCase, config: KindCase["config"]): Promise<boolean> {
  try {
    renderHead(await render(proof, NOW_MS, config));
    return true;
  } catch {
    return false;
  }
}

test("every kind that is pushed to has one case; what lacks it is the file to write, a KindCase in it", () => {
  const count = ({ kind }: KindRow) => CASES.filter((proof) => proof.kind === kind).length;
  expect(PUSHED.filter((row) => count(row) !== 1).map(({ kind }) => fileOf(kind))).toEqual([]);
});

test("every file of src/destinations/kinds/ is a row of the table: else give it its line in destinations.ts", async () => {
  const folder = join(import.meta.dir, "../../src/destinations/kinds");
  const rows = new Set<unknown>(listKinds());
  const files = await Promise.all(
    readdirSync(folder).map(async (name) => {
      const values: unknown[] = Object.values((await import(join(folder, name))) as object);
      return values.some((value) => rows.has(value)) ? [] : [`src/destinations/kinds/${name}`];
    }),
  );
  expect(files.flat()).toEqual([]);
});

test("every case leads to plain http at 127.0.0.1, where the tests' own servers stand; else change its config", () => {
  const elsewhere = CASES.flatMap((proof) =>
    addressesOf(kindOf(proof), proof.config)
      .filter(({ url }) => !/^http:\/\/127\.0\.0\.1(?=[:/]|$)/.test(url))
      .map(({ field, url }) => `${fileOf(proof.kind)}: ${field} leads to ${url}`),
  );
  const nowhere = CASES.filter((proof) => addressesOf(kindOf(proof), proof.config).length === 0);
  expect([...elsewhere, ...nowhere.map(({ kind }) => `${fileOf(kind)}: leads nowhere`)]).toEqual([]);
});

test("every code of src/core/destination-errors.ts is one that a kind gives", () => {
  const folder = join(import.meta.dir, "../../src/destinations");
  const paths = [...new Bun.Glob("**/*.ts").scanSync(folder)];
  const given = paths.map((path) => readFileSync(join(folder, path), "utf8")).join("\n");
  expect(Object.keys(DESTINATION_ERRORS).filter((code) => !given.includes(`"${code}"`))).toEqual([]);
});

test("every row says what a form and the documentation need", () => {
  for (const { name, about, fields } of listKinds()) {
    expect([name, about.sentAs, about.deliveredWhen, about.testedAgainst, about.notes ?? "-"]).not.toContain(
      "",
    );
    for (const field of fields) {
      expect([field.label, field.help]).not.toContain("");
      expect(field.help).toEndWith(".");
      if (field.pattern !== undefined) expect(() => new RegExp(`^(?:${field.pattern})$`)).not.toThrow();
    }
  }
});

describe.each(CASES.map((proof) => [proof.kind, proof] as const))("%s", (_kind, proof) => {
  const create = (config: unknown) => app.live.post("/v1/endpoints", { kind: proof.kind, config });
  const kind = kindOf(proof);

  test("its case gives every field that it has", () => {
    expect(Object.keys(proof.config).toSorted()).toEqual(kind.fields.map(({ name }) => name).toSorted());
  });

  test("a right config is stored; its credentials are read by nobody, and *** keeps them", async () => {
    const made = await create(proof.config);
    expect([made.status, made.json.errors]).toEqual([201, undefined]);
    const shown = kind.fields.map(({ name, secret }) => [name, secret ? MASK : proof.config[name]]);
    expect(made.json["config"]).toEqual(Object.fromEntries(shown));
    const path = `/v1/endpoints/${String(made.json["id"])}`;
    expect((await app.live.get(path)).json["config"]).toEqual(made.json["config"]);
    const kept = await app.live.patch(path, { config: made.json["config"], description: "changed" });
    expect([kept.status, kept.json["config"]]).toEqual([200, made.json["config"]]);
    const files = readdirSync(app.dataDir).map((name) => readFileSync(join(app.dataDir, name), "latin1"));
    for (const secret of credentialsOf(proof)) {
      const seen = [made.text, kept.text, app.log(), ...files].filter((text) => text.includes(secret));
      expect(seen).toEqual([]);
    }
  });

  test("what is required must be there; what has another type or form is refused at its place", async () => {
    const taken: string[] = [];
    const expectRefused = async (name: string, value: unknown) => {
      const reply = await create({ ...proof.config, [name]: value });
      if (reply.status === 422) return expectFault(reply, `/config/${name}`);
      const text = value === undefined ? "left out" : JSON.stringify(value);
      taken.push(`${name}: ${text.slice(0, SHOWN_LENGTH)} is answered with ${reply.status}`);
    };
    for (const { name, required, type, pattern } of kind.fields) {
      if (required) await expectRefused(name, undefined);
      else expect([name, (await create({ ...proof.config, [name]: null })).status]).toEqual([name, 201]);
      await expectRefused(name, 7);
      if (type === "boolean") continue;
      await expectRefused(name, "");
      await expectRefused(name, "x".repeat(20_000));
      if (pattern === undefined) continue;
      await expectRefused(name, `${proof.config[name]}\n`);
      await expectRefused(name, "\u0000");
    }
    await expectRefused("no_such_field", "x");
    expect(taken).toEqual([]);
  });

  test("a change of one field asks the guard for every address anew: what was allowed once may not be now", async () => {
    const asked: string[] = [];
    const checkDestination: Guard["checkDestination"] = (url) => {
      asked.push(url);
      return Promise.resolve({ ok: true, url: new URL(url) });
    };
    const halves = { config: {}, credentials: {} };
    for (const { name, secret } of kind.fields)
      Object.assign(secret ? halves.credentials : halves.config, { [name]: proof.config[name] });
    const before = { kind: proof.kind, ...halves };
    const masked = kind.fields.map(({ name, secret }) => [name, secret ? MASK : proof.config[name]]);
    const body = { config: Object.fromEntries(masked) as Record<string, string> };
    const faults: Fault[] = [];
    const after = readDestination(body, before, faults);
    expect([faults, after]).toEqual([[], before]);
    const actors: AddressJudges["actors"] = { inSlot: (_projectId, run) => run() };
    await requireSafeDestination({ guard: { checkDestination }, actors }, body, { ...after, projectId: 1 });
    expect(asked).toEqual(addressesOf(kind, proof.config).map(({ url }) => url));
  });

  test.each((proof.refused ?? []).map((each) => [each.name, each] as const))(
    "refuses %s",
    async (_name, each) => {
      expectFault(await create({ ...proof.config, ...each.config }), each.pointer, each.code);
    },
  );

  test("of every config that is taken a request can be made: else give the field a pattern, as HEADER_TEXT", async () => {
    const given = [proof.config, ...(proof.others ?? [])];
    for (const config of given) expect((await create(config)).status).toBe(201);
    const taken: string[] = [];
    for (const each of given.flatMap(spoiled)) {
      if (await canBeSent(proof, each.config)) continue;
      const { status } = await create(each.config);
      if (status !== 422) taken.push(`${each.field} = ${each.text}: ${status}`);
    }
    expect(taken).toEqual([]);
  });

  test("what arrives is the body's exact text, and the three headers verify it", async () => {
    const now = Date.now();
    const request = await render(proof, now);
    renderHead(request);
    const { body, headers } = proof.received(request);
    expect(body).toBe(new TextDecoder().decode(messageAt(now).body));
    if (headers === null) return;
    const lacking = webhookHeadersOf(messageAt(now)).filter(([name]) => headers[name] === undefined);
    expect(lacking.map(([name]) => `what arrives lacks ${name}`)).toEqual([]);
    expect(new Webhook(SECRET).verify(body, headers)).toMatchObject({ type: "invoice.paid" });
  });

  test("a repeat is the same message; another message is another", async () => {
    const now = Date.now();
    const identity = async (at: number, over = {}) => {
      const message = messageAt(at, over);
      return proof.received(await kind.request({ ...proof.config }, message, at, askOf(proof), atOnce))
        .identity;
    };
    const first = await identity(now);
    expect(await identity(now + 86_400_000)).toBe(first);
    if (first === null) return;
    expect(await identity(now, { id: "msg_01KAHM9Q7W00B5C1D7E9F3G6HK" })).not.toBe(first);
  });

  test("neither the head that attempts keep nor the body holds a credential", async () => {
    const request = await render(proof, Date.now());
    const kept = `${requestHeadOf(request, [])}\n${new TextDecoder().decode(request.body)}`;
    for (const secret of credentialsOf(proof)) expect(kept).not.toContain(secret);
  });

  test("a header that holds a credential is the kind's: it is among `protocolHeaders`, or none replaces it", async () => {
    const config = { ...proof.config };
    const renderWith = (headers: Message["headers"]) =>
      kind.request(config, messageAt(NOW_MS, { headers }), NOW_MS, askOf(proof), atOnce);
    const { headers: own, secrets: signedWith = [] } = await renderWith([]);
    const granted = [...(kind.secrets?.(config) ?? []), ...signedWith].filter((secret) => secret !== "");
    const secrets = [...credentialsOf(proof), ...granted];
    const holding = own.filter(
      ([name, value]) => isCredentialHeader(name) || secrets.some((secret) => value.includes(secret)),
    );
    const isOptional = kind.fields.every(({ secret, required }) => !secret || !required);
    for (const [name, value] of holding) {
      if (isProtocolHeader(kind, config, name)) continue;
      // Called without credentials, too: a proxy before it may ask for this header then.
      expect(isOptional ? [] : [`protocolHeaders of ${kind.kind} lacks ${name}`]).toEqual([]);
      const sent = (await renderWith([[name.toUpperCase(), "another"]])).headers;
      expect(sent.filter(([other]) => other.toLowerCase() === name)).toEqual([[name, value]]);
    }
  });

  test.each(proof.answers.map((each) => [each.name, each] as const))("judges %s", (_name, each) => {
    expect(kind.judge(answerOf(each), proof.config)).toEqual(each.judged);
  });

  test("its answers show a success, and where it can be told a refusal for permission and one for throttling", () => {
    expect(proof.answers.some(({ judged }) => judged.delivered)).toBe(true);
    expect(proof.answers.some(({ judged }) => !judged.delivered)).toBe(true);
    if (proof.statusDecides) return;
    expect(proof.answers.some(({ judged }) => !judged.delivered && judged.error !== null)).toBe(true);
  });

  test("its error's detail is short, whatever of an answer is long, and so is that of whoever is asked before", async () => {
    const max = limit("errorDetailLengthMax");
    const details: (string | null | undefined)[] = [];
    for (const { status, headers = {}, body = "" } of proof.answers) {
      const said = lengthened(body).map((long) => answerOf({ status, headers, body: long }));
      const named = Object.entries(headers).flatMap(([name, value]) =>
        lengthened(value).map((long) => answerOf({ status, headers: { ...headers, [name]: long }, body })),
      );
      for (const answer of [...said, ...named]) {
        const judged = kind.judge(answer, proof.config);
        details.push(judged.delivered ? null : judged.error?.detail);
      }
    }
    const refusals = proof.answers.flatMap(({ body = "" }) => lengthened(body));
    for (const body of proof.asked ? [...refusals, JSON.stringify({ error: LONG })] : []) {
      const ask: Ask = () => Promise.resolve(answerOf({ status: 400, body }));
      const asking = Promise.resolve(
        kind.request({ ...proof.config }, messageAt(NOW_MS), NOW_MS, ask, atOnce),
      );
      const unprepared: unknown = await asking.catch((error: unknown) => error);
      details.push(unprepared instanceof Unprepared ? unprepared.error?.detail : LONG);
    }
    expect(details.filter((detail) => (detail?.length ?? 0) > max)).toEqual([]);
  });

  test("an answer with a name that every object has, wherever a word stands, has one of the known error codes or none", () => {
    const errors = proof.answers.flatMap(spellings).map((answer) => {
      const judged = kind.judge(answer, proof.config);
      return judged.delivered ? null : judged.error;
    });
    const strange = errors.filter(
      (error) =>
        error !== null &&
        !(ATTEMPT_ERROR_CODES.includes(error.code) && typeof (error.detail ?? "") === "string"),
    );
    expect(strange).toEqual([]);
  });

  test("explains every error code that it gives, and gives every one that it explains", () => {
    const { errors = {} } = kind.about;
    const given = proof.answers.flatMap(({ judged }) => {
      const code = judged.delivered || judged.error === null ? UNEXPECTED : judged.error.code;
      return code === UNEXPECTED ? [] : [code];
    });
    // Whoever is asked before gives these: google-tokens.test.ts, aws/session.test.ts.
    const ofOthers = proof.asked ? ["token_unavailable", "role_refused"] : [];
    const codes = new Set<string>(given);
    const explained = new Set(Object.keys(errors).filter((code) => !ofOthers.includes(code)));
    expect([
      ...[...codes.difference(explained)].map((code) => `about.errors lacks ${code}`),
      ...[...explained.difference(codes)].map((code) => `answers of the case lack ${code}`),
    ]).toEqual([]);
  });

  test("an answer that cannot be read is judged all the same, and is no success unless the status says all", () => {
    const bodies = [
      "",
      "null",
      "[]",
      "7",
      '"x"',
      "{",
      "{}",
      "<html>",
      "\u0000\uffff",
      '{"a":',
      "x".repeat(16_384),
    ];
    for (const body of bodies) {
      for (const status of [200, 201, 204, 400, 403, 500, 503]) {
        const { delivered } = kind.judge(answerOf({ status, body }), proof.config);
        if (!delivered) continue;
        const isRight = status < 300 && proof.statusDecides === true;
        const shown = JSON.stringify(body).slice(0, SHOWN_LENGTH);
        expect(isRight ? null : `a ${status} with ${shown} is delivered, without statusDecides`).toBeNull();
      }
    }
    expect(
      kind.judge({ status: 200, headers: [], body: new Uint8Array([0xff, 0xfe, 0x80]) }, proof.config),
    ).toBeDefined();
  });
});
