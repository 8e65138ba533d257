import type { SignatureVersion } from "../../core/model.ts";

/**
 * Judges a delivery that somebody pasted: whether it is genuine, and where it is not, what is wrong. All of
 * it happens here, with the browser's own WebCrypto: neither the secret nor the body leaves the page.
 */
export interface Finding {
  /** The name of a text: `verify.found.<key>`. */
  key:
    | "genuine"
    | "no_header"
    | "twice"
    | "bad_timestamp"
    | "milliseconds"
    | "too_old"
    | "too_new"
    | "in_time"
    | "no_entry"
    | "no_version"
    | "no_secret"
    | "secret_prefix"
    | "secret_private"
    | "secret_base64"
    | "secret_length"
    | "no_crypto"
    | "body_line_break"
    | "body_trimmed"
    | "body_laid_out"
    | "body_ascii"
    | "no_match";
  isGood: boolean;
  values: Readonly<Record<string, string | number>>;
}

export interface Pasted {
  secret: string;
  headers: string;
  body: string;
  /** Unix milliseconds. */
  now: number;
}

const TOLERANCE_SECONDS = 300;
const NAMES = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;
type Name = (typeof NAMES)[number];
type Headers = Readonly<Record<Name, string>>;

function good(key: Finding["key"], values: Finding["values"] = {}): Finding {
  return { key, isGood: true, values };
}

function bad(key: Finding["key"], values: Finding["values"] = {}): Finding {
  return { key, isGood: false, values };
}

/**
 * Every finding, in the order in which a receiver would meet it. It is genuine where all of them are good.
 */
export async function checkDelivery({ secret, headers: text, body, now }: Pasted): Promise<Finding[]> {
  const { headers, faults } = readHeaders(text);
  if (headers === null) return faults;
  const findings = [...faults, checkTime(headers["webhook-timestamp"], now)];
  const key = readSecret(secret);
  if ("isGood" in key) return [...findings, key];
  const entries = headers["webhook-signature"].split(/\s+/).filter((entry) => entry !== "");
  const wanted = entries.filter((entry) => entry.startsWith(`${key.version},`));
  if (!entries.some((entry) => /^v1a?,./.test(entry))) return [...findings, bad("no_entry")];
  if (wanted.length === 0) return [...findings, bad("no_version", { version: key.version })];
  if (globalThis.crypto?.subtle === undefined) return [...findings, bad("no_crypto")];
  const content = (part: string) => `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${part}`;
  try {
    return [...findings, await judge(key, wanted, body, content)];
  } catch {
    return [...findings, bad("no_crypto")];
  }
}

/** Lines `name: value`, as a log, curl -v or a JSON object has them. */
function readHeaders(text: string): { headers: Headers | null; faults: Finding[] } {
  const found = new Map<string, string[]>();
  for (const [name, value] of pairsOf(text)) {
    const key = name.toLowerCase();
    found.set(key, [...(found.get(key) ?? []), value]);
  }
  const faults: Finding[] = [];
  for (const name of NAMES) {
    const values = found.get(name) ?? [];
    if (values.length === 0 || values[0] === "") faults.push(bad("no_header", { name }));
    if (values.length > 1) faults.push(bad("twice", { name }));
  }
  if (faults.some(({ key }) => key === "no_header")) return { headers: null, faults };
  const headers = Object.fromEntries(NAMES.map((name) => [name, found.get(name)?.[0] ?? ""])) as Record<
    Name,
    string
  >;
  return { headers, faults };
}

function pairsOf(text: string): [string, string][] {
  const json = parse(text);
  if (typeof json === "object" && json !== null)
    return Object.entries(json).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(" ") : String(value),
    ]);
  return text.split("\n").flatMap((line): [string, string][] => {
    // A person's own text, in their browser.
    // oxlint-disable-next-line regexp/no-super-linear-backtracking
    const match = /^[\s<>"'-]*(?:H\s+["'])?([\w-]+)["']?\s*[:=]\s*["']?(.*?)["',\s\\]*$/.exec(line);
    return match ? [[match[1] ?? "", match[2] ?? ""]] : [];
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function checkTime(text: string, now: number): Finding {
  if (!/^\d+$/.test(text)) return bad("bad_timestamp", { value: text.slice(0, 40) });
  const age = Math.round(now / 1000 - Number(text));
  if (/^\d{13}$/.test(text)) return bad("milliseconds");
  const seconds = Math.abs(age);
  if (seconds <= TOLERANCE_SECONDS) return good("in_time", { seconds });
  return bad(age > 0 ? "too_old" : "too_new", { minutes: Math.floor(seconds / 60) });
}

interface SigningSecret {
  version: SignatureVersion;
  bytes: Uint8Array<ArrayBuffer>;
}

const SECRET_BYTES = { min: 24, max: 64 };
const PUBLIC_KEY_BYTES = 32;

function readSecret(given: string): SigningSecret | Finding {
  const text = given.trim();
  if (text === "") return bad("no_secret");
  if (text.startsWith("whsk_")) return bad("secret_private");
  const [, prefix = "", rest = ""] = /^(whsec_|whpk_)?(.*)$/s.exec(text) ?? [];
  if (prefix === "") return bad("secret_prefix");
  const bytes = fromBase64(rest);
  if (bytes === null) return bad("secret_base64");
  const version = prefix === "whpk_" ? "v1a" : "v1";
  const isLong =
    version === "v1a"
      ? bytes.length === PUBLIC_KEY_BYTES
      : bytes.length >= SECRET_BYTES.min && bytes.length <= SECRET_BYTES.max;
  return isLong ? { version, bytes } : bad("secret_length", { count: bytes.length });
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

const toBytes = (text: string) => new TextEncoder().encode(text);

/** Fits, or would fit with a mistake that people make: then that is what is wrong. */
async function judge(
  secret: SigningSecret,
  entries: readonly string[],
  body: string,
  content: (body: string) => string,
): Promise<Finding> {
  const fits = secret.version === "v1" ? fitsHmac : fitsEd25519;
  if (await fits(secret.bytes, content(body), entries)) return good("genuine", { version: secret.version });
  for (const [key, changed] of otherBodies(body)) {
    if (changed !== body && (await fits(secret.bytes, content(changed), entries))) return bad(key);
  }
  return bad("no_match");
}

/** What becomes of a body on its way through parsers, editors and terminals, taken back. */
function otherBodies(body: string): [Finding["key"], string][] {
  const json = parse(body);
  const compact = json === undefined ? body : JSON.stringify(json);
  return [
    ["body_line_break", body.replace(/\r?\n$/, "")],
    ["body_line_break", `${body}\n`],
    ["body_line_break", body.replaceAll(/\r?\n/g, "\r\n")],
    ["body_trimmed", body.trim()],
    ["body_laid_out", withoutLayout(body)],
    ["body_laid_out", compact],
    ["body_ascii", compact.replaceAll(/[\u0080-\uFFFF]/g, escaped)],
  ];
}

/** JSON without the space between its parts; numbers keep their spelling. */
function withoutLayout(text: string): string {
  return text.replaceAll(/("(?:\\.|[^"\\])*")|\s+/g, (_whole, string: string | undefined) => string ?? "");
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

async function fitsHmac(
  key: Uint8Array<ArrayBuffer>,
  content: string,
  entries: readonly string[],
): Promise<boolean> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", imported, toBytes(content)));
  return entries.includes(`v1,${btoa(String.fromCharCode(...signature))}`);
}

async function fitsEd25519(
  key: Uint8Array<ArrayBuffer>,
  content: string,
  entries: readonly string[],
): Promise<boolean> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
  for (const entry of entries) {
    const signature = fromBase64(entry.slice("v1a,".length));
    if (signature && (await crypto.subtle.verify("Ed25519", imported, signature, toBytes(content))))
      return true;
  }
  return false;
}
