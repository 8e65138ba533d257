import { identityFrom, identityOf } from "../core/delivery-identity.ts";
import { exactBytes } from "../core/exact-bytes.ts";
import { hasNameTwice } from "../core/json/json.ts";
import { limit } from "../core/limits.ts";
import { hasLongQuery } from "../core/long-query.ts";
import { isHeavy } from "../core/structures/turn-queue.ts";
import { answerWithId } from "./answers.ts";
import { type Body, isJsonContainer, readBody } from "./body.ts";
import { hash, hmac } from "./digest.ts";
import { eventName } from "./event-name.ts";
import { type Facts, type Found, hashOf, readPath } from "./facts.ts";
import type {
  InboundRequest,
  KeyReader,
  ReadingMeans,
  Reception,
  RefusalReason,
  SourceMaterial,
  VerifiedEvent,
} from "./provider.ts";
import { masked } from "./mask.ts";
import type { Handshake, ProviderRow } from "./row.ts";
import { hmacScheme } from "./schemes/hmac.ts";
import { type Arrival, faultOfTime, type SignedHeaders, type Verdict } from "./schemes/scheme.ts";
import { isSecretInQuery } from "./schemes/token.ts";
import { UNSTATED_WINDOW } from "./window.ts";

/** Stands in where no key documents can be read: every request that needs one is answered 503. */
export const NO_KEYS: KeyReader = { read: () => Promise.resolve({ kind: "unavailable" }) };
/** Stands in where nobody else waits for a turn, or needs room. */
export const PLENTY: ReadingMeans = { giveWay: () => Promise.resolve(), takeRoom: () => {} };
/** A longer identity is stored as its hash. */
const DELIVERY_ID_LENGTH_MAX = 255;

type Genuine = Verdict & { kind: "verified" };

/** What became of a verified body, without what was parsed of it. */
interface Judged {
  readonly reception: Reception;
  /** Text of the JSON in which something is masked; empty where nothing is. */
  readonly text: string;
}

const MALFORMED: Reception = { kind: "refused", reason: "malformed" };

/**
 * The verdict on one request: answered as a handshake, refused, or an event. The raw bytes are verified
 * before anything reads them, but for handshakes that come unsigned, and of a body in which its proof stands
 * that proof alone. A heavy body is read in other turns than that of its verification.
 */
export async function receiveBy(row: ProviderRow, arrived: Arrival, means: ReadingMeans): Promise<Reception> {
  if (hasLongQuery(arrived.request.url)) return MALFORMED;
  const request = row.unpack ? await row.unpack(arrived.request, means) : arrived.request;
  if (!request) return MALFORMED;
  const arrival = { ...arrived, request };
  const early = row.unsignedHandshakes && (await firstAnswer(row.unsignedHandshakes, arrival));
  if (early) return early;
  const judged = row.scheme.verify(arrival);
  const verdict = judged instanceof Promise ? await judged : judged;
  if (request.method !== "POST") return { kind: "refused", reason: "wrong_method" };
  if (verdict.kind === "refused") return { kind: "refused", reason: reasonOf(verdict.reason, arrival) };
  if (verdict.kind === "unavailable") return verdict;
  // What is forged is dropped in the turn in which it was unpacked.
  if (request !== arrived.request) means.takeRoom(request.body.length);
  const bytes = request.body.length;
  const nextPart: NextPart = () => (isHeavy(bytes) ? means.giveWay(bytes) : undefined);
  // What is parsed takes many times the room of its text: nobody waits for a turn with it in hand.
  await nextPart();
  return withoutSecrets(row, await judgeVerified(row, arrival, verdict), nextPart);
}

/** A turn of its own before each part that costs as much as what was verified. */
type NextPart = () => Promise<void> | undefined;

/** Where in `data` something stands that nobody may read. */
function maskedPaths({ proofs = [], secrets = [] }: ProviderRow): readonly string[] {
  return [...proofs, ...secrets];
}

/** Refuses what could be read in another way than it was verified or masked, and masks what is secret. */
async function withoutSecrets(row: ProviderRow, judged: Judged, nextPart: NextPart): Promise<Reception> {
  const paths = maskedPaths(row);
  if (paths.length === 0) return judged.reception;
  await nextPart();
  // Of two members of one name the last was verified, or is masked; a reader of `data` may take the first.
  if (hasNameTwice(judged.text)) return MALFORMED;
  const { reception } = judged;
  if (reception.kind !== "event") return reception;
  const data = await masked(reception.data, paths, nextPart);
  if (data !== null) return { ...reception, data };
  // What was verified stands elsewhere, and would be shown.
  return row.proofs ? MALFORMED : reception;
}

async function firstAnswer<Seen>(
  handshakes: readonly Handshake<Seen>[],
  seen: Seen,
): Promise<Reception | null> {
  for (const handshake of handshakes) {
    const answer = await handshake.answer(seen);
    if (answer) return answer;
  }
  return null;
}

/** The owner learns that the secret was in the query string, whatever else was wrong. */
function reasonOf(reason: RefusalReason, arrival: Arrival): RefusalReason {
  return isSecretInQuery(arrival) ? "token_in_query" : reason;
}

const NO_HEADERS: SignedHeaders = new Map();

function factsOf(arrival: Arrival, verdict: Genuine): Facts {
  const body = readBody(arrival.request);
  const { claims = {}, signedHeaders = NO_HEADERS, proven, reading } = verdict;
  return { arrival, body, claims, signedHeaders, proven, reading };
}

/** Reads the body and all that is asked of it, in one turn; no more than texts are left of it. */
async function judgeVerified(row: ProviderRow, arrival: Arrival, verdict: Genuine): Promise<Judged> {
  const facts = factsOf(arrival, verdict);
  // The signed text could be cut elsewhere.
  const isCut = verdict.needsJson === true && !isJsonContainer(facts.body);
  const reception = isCut ? MALFORMED : await judgeFacts(row, facts);
  return { reception, text: maskedPaths(row).length > 0 ? facts.body.text : "" };
}

async function judgeFacts(row: ProviderRow, verified: Facts): Promise<Reception> {
  if (!isBodyRecent(row, verified)) return { kind: "refused", reason: "stale_timestamp" };
  return (await firstAnswer(row.signedHandshakes ?? [], verified)) ?? eventOf(row, verified);
}

function isBodyRecent(row: ProviderRow, { body, arrival }: Facts): boolean {
  if (!row.bodyTimestamp) return true;
  const { path, unit, window = UNSTATED_WINDOW } = row.bodyTimestamp;
  return faultOfTime(readPath(body, path), unit, window, arrival) === null;
}

/** JSON stays as it came; of other bytes each may become six, as `\u0001`. */
function isTooLong({ kind, data }: Body): boolean {
  return kind !== "json" && Buffer.byteLength(data) > limit("rewrittenBodyBytesMax");
}

function eventOf(row: ProviderRow, facts: Facts): Reception {
  const id = row.deliveryId.read(facts);
  const dedupSeconds = limit(id?.origin === "body" ? "bodyHashKeptSeconds" : "dedupKeptSeconds");
  const { data } = facts.body;
  const proof = proofOf(row, facts);
  // Without what is to be remembered, it would make as many events as anyone likes.
  if (row.proofTakenOnce && proof === null) return MALFORMED;
  if (isTooLong(facts.body)) return { kind: "too_large" };
  return {
    kind: "event",
    type: eventName(row.key, row.eventType.read(facts)?.value ?? null),
    data,
    deliveryId: id && identityFound(id),
    dedupSeconds,
    proof,
    answer: row.answer ? row.answer(facts) : answerWithId,
  };
}

function identityFound({ value, origin }: Found): string {
  const identity = origin ? identityFrom(origin, value) : identityOf(value);
  if (identity.length <= DELIVERY_ID_LENGTH_MAX) return identity;
  return identityFrom("long", hash("sha256", [exactBytes(identity)], "hex"));
}

/**
 * What proved the request, where it may make one event only; to be remembered for as long as it could
 * come again, and where no time is signed for as long as any event is known: whoever changes what is not
 * signed chooses by which identity, and so for how long, the event itself is known.
 */
function proofOf({ proofTakenOnce, scheme: { window } }: ProviderRow, facts: Facts): VerifiedEvent["proof"] {
  const { reading } = facts;
  const keptSeconds = limit("dedupKeptSeconds");
  // Whatever time is signed: cut elsewhere, the text may hold a later one.
  if (reading) return { id: reading.text, cut: reading.cut, keptSeconds };
  const found = proofTakenOnce?.read(facts) ?? null;
  if (found === null) return null;
  const windowSeconds = window && window.pastSeconds + window.futureSeconds;
  return { id: found.value, content: hashOf(facts), keptSeconds: windowSeconds ?? keptSeconds };
}

/**
 * What addresses imitate that do not exist, by the work that costs most with large bodies: each hash, with
 * one secret and with two.
 */
const IMITATED = (["sha1", "sha256", "sha512"] as const).flatMap((algorithm) => {
  const scheme = hmacScheme({ header: "authorization", algorithm, encoding: "hex" });
  return [["no such source"], ["no such source", "nor its secret before"]].map((secrets) => ({
    scheme,
    material: { secrets, credentials: {}, config: {} } satisfies SourceMaterial,
  }));
});
/** So that nobody can tell beforehand what an address imitates; it may be written in either case. */
const IMITATION_KEY = crypto.getRandomValues(new Uint8Array(32));

/**
 * Refuses for a source that does not exist. Each such address does the work of a source of some kind, always
 * of the same one: what its work costs tells of no address whether there is a source.
 */
export async function refuseUnknownSource(id: string, request: InboundRequest): Promise<Reception> {
  // A source would not read it either.
  if (hasLongQuery(request.url)) return { kind: "refused", reason: "unknown_source" };
  const pick = Number.parseInt(hmac("sha256", IMITATION_KEY, [id.toUpperCase()], "hex").slice(0, 8), 16);
  const imitated = IMITATED[pick % IMITATED.length];
  if (imitated === undefined) throw new Error("there is nothing to imitate");
  const arrival = { request, material: imitated.material, nowMs: 0, keys: NO_KEYS };
  await imitated.scheme.verify(arrival);
  reasonOf("unknown_source", arrival);
  return { kind: "refused", reason: "unknown_source" };
}
