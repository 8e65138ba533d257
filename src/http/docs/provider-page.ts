import { type Field, isByAddressAlone, type Provider, type VerifiedWith } from "../../inbound/provider.ts";
import { UNSTATED_WINDOW } from "../../inbound/window.ts";
import { blocks, code, plain, table } from "./markdown.ts";

/** The page of one provider, made from its row, in Markdown. */
export function providerPage(provider: Provider): string {
  const { name, typeExample, docs, verifiedWith } = provider;
  return blocks([
    `# ${plain(name)}`,
    `${promiseOf(provider)}, such as ${code(typeExample)}.`,
    ...setUp(provider),
    ...fieldsOf(provider),
    ...checksOf(provider),
    ...eventOf(provider),
    "## Good to know",
    list(docs.pitfalls),
    REFUSALS,
    "## How this is proven",
    `${proofOf(verifiedWith)} The provider's own page: ${linked(docs.page)}.`,
  ]);
}

/** Texts of a row, one below the other. */
function list(texts: readonly string[]): string {
  return texts.map((text) => `- ${plain(text)}`).join("\n");
}

function promiseOf(provider: Provider): string {
  const name = plain(provider.name);
  return isByAddressAlone(provider)
    ? `Nothing proves that a webhook is of ${name} but that its sender knows the address: keep that secret. What comes in becomes an event`
    : `Webhooks of ${name} are verified at the door; what is genuine becomes an event`;
}

function setUp(provider: Provider): string[] {
  const { addressAt, secretAt, isChecked } = provider.docs;
  const command = `\`\`\`bash\n${commandFor(provider)}\n\`\`\``.replaceAll("\n", "\n   ");
  return [
    "## Set up",
    "1. Make a source. Its answer holds `ingest_url`, the address for this provider.",
    `   ${command}`,
    `2. Enter that address: ${plain(addressAt)}`,
    `3. The secret: ${plain(secretAt)} ${whoseSecret(provider)}`,
    isChecked ? "" : uncheckedNote(provider),
  ];
}

/** The command that makes a source, with examples in place of what only the customer has. */
function commandFor({ key, name, example }: Provider): string {
  const body = JSON.stringify({ provider: key, name, ...example }, null, 2).replaceAll("'", "");
  return `curl -sS http://localhost:8080/v1/sources -H "authorization: Bearer $TEST_KEY" \\
  -H 'content-type: application/json' -d '${body}'`;
}

function whoseSecret({ secretFrom, fields }: Provider): string {
  const names = fields.filter(({ required }) => required).map(({ name }) => code(name));
  if (secretFrom === "source") {
    return "It is `secret` in the answer, which shows it this once; where you have one there already, send it as `signing_secret`.";
  }
  if (secretFrom === "none" || names.length === 0) return "";
  return `Where it is shown only after the address was entered, leave ${names.join(", ")} out of the first call, and send it by \`PATCH /v1/sources/…\`: until then the source is \`awaiting_secret\`.`;
}

function uncheckedNote({ name }: Provider): string {
  return `**The way through ${plain(name)}'s own pages could not be checked word for word** when this page was made: menus may be called
otherwise there. What is verified does not depend on it.`;
}

function fieldRow(prefix: string, { name, label, help, required }: Field): string[] {
  const path = name === "signing_secret" ? name : `${prefix}.${name}`;
  return [code(path), plain(`${label}. ${help}`), required ? "yes" : "no"];
}

function fieldsOf({ fields, configFields }: Provider): string[] {
  const rows = [
    ...fields.map((field) => fieldRow("credentials", field)),
    ...configFields.map((field) => fieldRow("config", field)),
  ];
  if (rows.length === 0) return [];
  return ["## What the source takes", table(["Field", "What it is", "Needed"], rows)];
}

function checksOf(provider: Provider): string[] {
  const { headers, checks, needsPublicUrl } = provider;
  const read = headers.length > 0 ? ` It reads ${headers.map(headerOf).join(", ")}.` : "";
  return [
    "## What is verified",
    `${plain(checks)}.${read}`,
    plain(windowOf(provider)),
    needsPublicUrl ? ADDRESS_NOTE : "",
    ...handshakesOf(provider),
  ];
}

const ADDRESS_NOTE = `The address is part of it: the one entered must be \`ingest_url\`, character for character, or stand in
\`config.public_url\`.`;

/** One of a list; a dotted one says in which setting the header is named. */
function headerOf(name: string): string {
  return name.includes(".") ? `the header named in ${code(name)}` : code(name);
}

/** Where no window is the row's own. */
function windowElsewhere({ scheme, configFields }: Provider): string {
  const isConfigured = configFields.some((field) => field.name === "tolerance_seconds");
  if (isConfigured) return "A signed timestamp may lie 300 seconds away, or config.tolerance_seconds.";
  return scheme === "jwt"
    ? "The times that the token states (exp, nbf) must hold now, give or take 60 seconds."
    : "No time is signed: what is sent again is told by its identity.";
}

function windowOf(provider: Provider): string {
  const { window, name } = provider;
  if (window === null) return windowElsewhere(provider);
  const { pastSeconds, futureSeconds } = window;
  const stated =
    window === UNSTATED_WINDOW
      ? `${name} states no window: the signed timestamp may be 24 hours old and ${futureSeconds} seconds ahead.`
      : `The signed timestamp may be ${pastSeconds} seconds old and ${futureSeconds} seconds ahead.`;
  return `${stated} config.tolerance_seconds narrows it.`;
}

function handshakesOf({ handshakes }: Provider): string[] {
  if (handshakes.length === 0) return ["There is no handshake."];
  return ["Answered at the door, and never an event:", list(handshakes)];
}

const FORMS = {
  never: "",
  sometimes:
    " A form becomes an object of its fields, in which payload, json and mandrill_events are parsed where they hold JSON.",
  always:
    "It sends a form: data is an object of its fields, in which payload, json and mandrill_events are parsed where they hold JSON.",
} as const;

const JSON_TEXT =
  "data is the JSON object of the body as it came: order, spelling and size of numbers stay, only white space goes.";
const LIST_TEXT =
  ' A body that is a list becomes {"items": […]}: one event for a batch, with the type of its first element.';

function dataOf({ form, eventType }: Provider): string {
  if (form === "always") return FORMS.always;
  return `${JSON_TEXT}${/\b0\./.test(eventType) ? LIST_TEXT : ""}${FORMS[form]}`;
}

function eventOf(provider: Provider): string[] {
  const { eventType, deliveryId, key, typeExample } = provider;
  const type = eventType === "none" ? "`unknown`: it sends none" : plain(eventType);
  const identity = deliveryId === "none" ? "None: every request is an event of its own" : plain(deliveryId);
  const hash = deliveryId.includes("for 10 minutes") ? "; a hash of the body counts for 10 minutes" : "";
  return [
    "## What becomes of it",
    plain(dataOf(provider)),
    `\`\`\`json\n{ "type": "${typeExample}", "timestamp": "…", "data": { "…": "…" } }\n\`\`\``,
    table(
      ["Of the event", "What it is"],
      [
        ["Type", `${code(`${key}.`)} and ${type}`],
        ["Identity", identity],
      ],
    ),
    `The same identity again is answered with the first event and \`"duplicate": true\`, for 30 days${hash}.
A request in which no identity is found is an event of its own.
An endpoint that names ${code(`${key}.*`)} in \`event_types\` gets all of them.`,
  ];
}

const REFUSALS = `## When it is refused

The answer is an empty 401, whatever the reason. The reasons are counted in \`counters.rejected\` of \`GET /v1/sources/…\`, over time
in \`GET /v1/sources/…/stats\`, and \`POST /v1/sources/…/verify-sample\` says what is wrong with a request that you captured.`;

/** What is no address stands as a text. */
function linked(page: string): string {
  return page.startsWith("https://") ? `<${page}>` : plain(page);
}

const PROOFS = {
  official_sdk: "The provider's own SDK signs or checks the requests of the test suite",
  library: "The library that its page prescribes signs or checks the requests of the test suite",
  vector: "A signed request that the provider published is accepted by the test suite",
  documentation:
    "There is no code and no signed example of the provider's: the check was computed a second time, independently, from",
} as const;

function proofOf(proof: VerifiedWith): string {
  if ("package" in proof) return `${PROOFS[proof.kind]}: ${code(proof.package)} ${plain(proof.version)}.`;
  const glue = proof.kind === "vector" ? ": " : " ";
  return `${PROOFS[proof.kind]}${glue}${linked(proof.page)}.`;
}
