/**
 * Walks over the table: what could be forged by one who has not the secret, but a genuine request, an event,
 * or the door's own answers.
 */
import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import type { InboundRequest, Provider, Reception } from "../../src/inbound/provider.ts";
import { listProviders, PROVIDER_ROWS } from "../../src/inbound/providers.ts";
import { INHERITED, respelled } from "../kit/respelled.ts";
import type { ProviderCase } from "./case.ts";
import { CASES } from "./cases.ts";
import {
  changedBodies,
  CONTENT_TYPES,
  doubledNames,
  encodingsOf,
  harvest,
  movedHeaders,
  movedParts,
  recutBodies,
  resigned,
  respelledBytes,
  runsIn,
  unmasked,
  withTexts,
} from "./forgery-kit.ts";
import { headersIn, keysOf, materialOf, NOW_MS, textOf, withBody, withHeader, withoutHeader } from "./kit.ts";

beforeAll(() => setSystemTime(NOW_MS));
afterAll(() => setSystemTime());

interface Row {
  provider: Provider;
  proof: ProviderCase;
}

const ROWS: Row[] = listProviders().flatMap((provider) => {
  const proof = CASES[provider.key];
  return proof ? [{ provider, proof }] : [];
});

function receive(
  { provider, proof }: Row,
  request: InboundRequest,
  secrets: readonly string[] = proof.secrets.slice(0, 1),
): Promise<Reception> {
  const material = materialOf(secrets, {
    credentials: proof.credentials ?? {},
    config: proof.config ?? {},
  });
  const documents = proof.keyDocuments ?? {};
  return provider.receive(request, material, NOW_MS, {
    read: (document) => keysOf(documents[document.url] ?? null).read(document),
  });
}

async function genuine({ proof }: Row): Promise<InboundRequest> {
  return proof.sign(proof.secrets[0] ?? "", NOW_MS);
}

/** What the row names as not signed, in lower case; of `config` the headers that the case has there. */
function unsignedOf({ provider, proof }: Row): string[] {
  const names = provider.unsignedHeaders.flatMap((name) => {
    const value = name.startsWith("config.") ? proof.config?.[name.slice("config.".length)] : name;
    return typeof value === "string" ? [value] : [];
  });
  return names.map((name) => name.toLowerCase());
}

const byKey = (rows: readonly Row[]) => rows.map((row) => [row.provider.key, row] as const);

/** Mailchimp's address is all that it has. */
const PROVEN = ROWS.filter(({ proof }) => !proof.isUnsigned);

/** The event, but for what it answers. */
function eventIn(reception: Reception): unknown {
  if (reception.kind !== "event") return null;
  const { type, data, deliveryId } = reception;
  return { type, data, deliveryId };
}

describe("what a handshake answers makes no event", () => {
  const texts = (row: Row, body: string) => [
    ...["20f9f8ed05f77439fe955c977e4c8a53", '{"forged":1}', "true", "MTQ4NjY5", "PD94bWw+", body],
    `v0:${NOW_MS / 1000}:{"event":"forged"}`,
    row.provider.key,
  ];

  test.each(byKey(PROVEN.filter(({ provider }) => provider.handshakes.length > 0)))(
    "%s",
    async (_key, row) => {
      // Signed with a secret that is not the source's: whatever makes an event of it is the answer's doing.
      const other = row.proof.secrets[1];
      const delivery = other === undefined ? await genuine(row) : await row.proof.sign(other, NOW_MS);
      // Where it has no secret of its own the delivery is genuine, and stays the same event.
      const wanted = eventIn(await receive(row, delivery));
      const chosen = texts(row, new TextDecoder().decode(delivery.body));
      for (const asking of (row.proof.handshakes ?? []).filter(({ material }) => !material)) {
        const handshake = await asking.request(row.proof.secrets[0] ?? "", NOW_MS);
        for (const text of chosen) {
          const asked = withTexts(handshake, text);
          const answers = await Promise.all(asked.map((each) => receive(row, each)));
          const forged = answers.flatMap((answer) =>
            answer.kind === "answer" ? harvest(answer, delivery, text, other !== undefined) : [],
          );
          const events = (await Promise.all(forged.map((each) => receive(row, each)))).map(eventIn);
          expect(events.filter((event) => event !== null && !Bun.deepEquals(event, wanted))).toEqual([]);
        }
      }
    },
  );
});

describe("a changed body under the same proof is refused, or the row says what is not covered", () => {
  test.each(byKey(ROWS))("%s", async (_key, row) => {
    const request = await genuine(row);
    const changed = [...changedBodies(request), ...(row.proof.uncovered?.(request) ?? [])];
    const receptions = await Promise.all(changed.map((each) => receive(row, each)));
    const wanted = eventIn(await receive(row, request));
    const isOpen = receptions.map(eventIn).some((event) => event !== null && !Bun.deepEquals(event, wanted));
    expect(changed.length).toBeGreaterThan(0);
    expect([isOpen, row.provider.covers]).toEqual([row.provider.covers !== "whole", row.provider.covers]);
  });
});

describe("a name that every object has, wherever a word stands, is taken where any other is, and nowhere else", () => {
  test.each(byKey(ROWS))("%s", async (_key, row) => {
    const request = await genuine(row);
    const respell = (name: string) => [
      ...[...headersIn(request)].flatMap(([header, value]) =>
        respelled(value, () => name).map((other) => withHeader(request, header, other)),
      ),
      ...respelled(textOf(request), () => name).map((other) => withBody(request, other)),
    ];
    const takenOf = async (name: string) =>
      (await Promise.all(respell(name).map((each) => receive(row, each)))).map(
        ({ kind }) => kind === "event",
      );
    const usual = await takenOf("another");
    for (const name of INHERITED) expect(await takenOf(name)).toEqual(usual);
  });
});

/** Their genuine bodies hold U+FFFD, which other bytes read as where a reader is not strict. */
const WITH_REPLACEMENT = ["github", "mandrill", "plivo", "segment", "twilio"];

describe("bytes that only read like what was signed are no other event", () => {
  test.each(byKey(PROVEN.filter(({ provider }) => provider.covers !== "nothing")))("%s", async (key, row) => {
    const request = await genuine(row);
    const wanted = eventIn(await receive(row, request));
    const others = respelledBytes(request);
    expect(others.length > 1).toBe(WITH_REPLACEMENT.includes(key));
    const events = (await Promise.all(others.map((each) => receive(row, each)))).map(eventIn);
    expect(events.filter((event) => event !== null && !Bun.deepEquals(event, wanted))).toEqual([]);
  });
});

/** What is remembered of an event, so that no second comes of it: its proof, or else its identity. */
function keyIn(reception: Reception): string | null {
  if (reception.kind !== "event") return null;
  return reception.proof?.id ?? reception.deliveryId;
}

/** What proves them says nothing of what happened: their pages tell to ask the provider by an id. */
const SIGN_NO_IDENTITY = ["dropbox_sign"];

describe("one proof makes one event, wherever what is signed is cut", () => {
  const isKnown = ({ provider, proof }: Row) =>
    !SIGN_NO_IDENTITY.includes(provider.key) && proof.expected.deliveryId !== null;
  const rows = ROWS.filter((row) => isKnown(row) && row.provider.covers !== "nothing");

  test.each(byKey(rows))("%s", async (_key, row) => {
    const request = await genuine(row);
    const { uncovered, recut } = row.proof;
    const makers = [changedBodies, recutBodies, movedParts, uncovered, recut];
    const others = makers.flatMap((make) => make?.(request) ?? []);
    others.push(...movedHeaders(request, unsignedOf(row)));
    const events = (await Promise.all([request, ...others].map((each) => receive(row, each)))).filter(
      ({ kind }) => kind === "event",
    );
    expect(new Set(events.map(keyIn))).toEqual(new Set([keyIn(events[0] as Reception)]));
    expect(events.map(keyIn)).not.toContain(null);
    // Whoever chose what is not signed would choose how long the proof is known.
    expect(new Set(events.map(keptOf)).size).toBe(1);
  });
});

/** How long it is known that a proof has made its event; null where its identity alone is known. */
function keptOf(reception: Reception): number | null {
  return reception.kind === "event" ? (reception.proof?.keptSeconds ?? null) : null;
}

/** Of a batch Segment signs the first element alone. */
const listed = (request: InboundRequest) => withBody(request, `[${textOf(request)}]`);
/** What proves them stands in the body, among what it proves. */
const PROVEN_WITHIN = PROVIDER_ROWS.filter(({ proofs }) => proofs).map(({ key }) => key);

describe("of two values under one name, nobody can take the one for the other that was signed", () => {
  const isWithin = ({ provider }: Row) => PROVEN_WITHIN.includes(provider.key);
  const rows = ROWS.filter((row) => row.provider.covers !== "nothing" || isWithin(row));

  test.each(byKey(rows))("%s", async (_key, row) => {
    const request = await genuine(row);
    const alone = doubledNames(request, "before");
    const others = [...doubledNames(request, "after"), ...doubledNames(listed(request), "before")];
    const tried = await Promise.all([...alone, ...others].map((each) => receive(row, each)));
    expect(tried.filter(({ kind }) => kind !== "refused")).toEqual([]);
    // The last is what is read: the first would stand beside it in `data`.
    const reasons = tried.slice(0, alone.length).map((each) => (each.kind === "refused" ? each.reason : ""));
    if (isWithin(row)) expect(new Set(reasons)).toEqual(new Set(["malformed"]));
  });

  test("a walk over nearly every row", () => expect(rows.length).toBeGreaterThan(100));
});

/** The secrets of a row's own source, and of others by which its genuine request is proven too. */
function secretsOf({ proof }: Row): string[][] {
  return [proof.secrets.slice(0, 1), ...(proof.otherSecrets ?? []).map((secret) => [secret])];
}

async function readableData(row: Row, request: InboundRequest): Promise<Record<string, unknown>> {
  const reception = await receive(row, request);
  if (reception.kind !== "event") throw new Error(`The genuine request was ${reception.kind}.`);
  return JSON.parse(reception.data) as Record<string, unknown>;
}

describe("whoever reads an event cannot send another one, at no source of a key by which it was signed", () => {
  test.each(byKey(PROVEN))("%s", async (_key, row) => {
    const request = await genuine(row);
    const data = await readableData(row, request);
    const runs = runsIn(JSON.stringify(data));
    const sent = [data, ...runs.map((run) => unmasked(data, run))].flatMap(encodingsOf);
    const bodies = encodingsOf(data).map(({ body }) => withBody(request, body));
    const signed = bodies.flatMap((each) => runs.map((run) => resigned(each, run)));
    const forged = [...sent, ...signed].flatMap((each) => [each, ...changedBodies(each)]);
    for (const secrets of secretsOf(row)) {
      const receptions = await Promise.all(forged.map((each) => receive(row, each, secrets)));
      expect(receptions.filter(({ kind }) => kind === "event")).toEqual([]);
    }
  });

  test.each(byKey(PROVEN.filter(({ proof }) => proof.otherSecrets)))(
    "%s is an event at each of these",
    async (_key, row) => {
      const request = await genuine(row);
      for (const secrets of secretsOf(row)) expect((await receive(row, request, secrets)).kind).toBe("event");
    },
  );
});

/** What is called so and proves no request to anybody. */
const NO_PROOF = [
  "aws_sns SignatureVersion",
  "aws_sns SigningCertURL",
  "dropbox_sign signature_request_id",
  // Of a card.
  "lithic token",
  // Signed, and of no use without what signs it.
  "mailgun token",
];

test("what a body calls a token, a secret or a signature is masked, or proves nothing", async () => {
  const shown = new Set<string>();
  for (const row of PROVEN) {
    const text = JSON.stringify(await readableData(row, await genuine(row)));
    for (const [, name = ""] of text.matchAll(
      /"([^"]*(?:token|secret|sign|password|clientState|hmac)[^"]*)":"[^*]/gi,
    ))
      shown.add(`${row.provider.key} ${name}`);
  }
  expect([...shown].sort()).toEqual(NO_PROOF.toSorted());
});

/** Every header that any row reads. */
const HEADERS = [
  ...new Set(
    ROWS.flatMap(({ provider }) => [
      ...provider.headers.filter((name) => !/[. ]/.test(name)),
      ...[...`${provider.eventType} ${provider.deliveryId}`.matchAll(/header ([A-Za-z0-9-]+)/g)].map(
        ([, name]) => name ?? "",
      ),
      ...["content-type", "content-encoding", "x-forwarded-host", "host", "x-http-method-override"],
    ]),
  ),
].map((name) => name.toLowerCase());

describe("an unsigned header changes no event, or the row names it", () => {
  test.each(byKey(ROWS))("%s", async (_key, row) => {
    const request = await genuine(row);
    const wanted = eventIn(await receive(row, request));
    const named = unsignedOf(row);
    for (const name of new Set([...HEADERS, ...headersIn(request).keys()])) {
      const values = ["forged-1", ...CONTENT_TYPES];
      const tried = [
        withoutHeader(request, name),
        ...values.map((value) => withHeader(request, name, value)),
      ];
      const events = (await Promise.all(tried.map((each) => receive(row, each)))).map(eventIn);
      const other = events.filter((event) => event !== null && !Bun.deepEquals(event, wanted));
      if (other.length > 0 && !named.includes(name)) expect([name, other]).toEqual([name, []]);
    }
  });

  /** Contentful says with each request which headers it has signed. */
  const SAYS_ITSELF = ["contentful"];

  test.each(byKey(ROWS.filter(({ provider }) => !SAYS_ITSELF.includes(provider.key))))(
    "what %s names is not signed",
    async (_key, row) => {
      const request = await genuine(row);
      const named = unsignedOf(row);
      for (const name of named) {
        const reception = await receive(row, withHeader(request, name, "forged-1"));
        expect([name, reception.kind]).toEqual([name, "event"]);
      }
    },
  );
});

test("a body in which the proof cannot be masked is refused", async () => {
  const row = ROWS.find(({ provider }) => provider.key === "microsoft_graph");
  if (!row) throw new Error("There is no such row.");
  const request = await genuine(row);
  const deep = new TextDecoder()
    .decode(request.body)
    .replace("{", `{"deep":${"[".repeat(200)}${"]".repeat(200)},`);
  expect((await receive(row, withBody(request, deep))).kind).toBe("refused");
});
