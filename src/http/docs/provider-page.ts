import { type Field, isByAddressAlone, type Provider, type VerifiedWith } from "../../inbound/provider.ts";
import { UNSTATED_WINDOW } from "../../inbound/window.ts";
import { type Html, html } from "./html.ts";

/** The page of one provider, made from its row. */
export function providerPage(provider: Provider): Html {
  return html`<h1>${provider.name}</h1>
<p>${promiseOf(provider)}, such as <code>${provider.typeExample}</code>.</p>
${setUp(provider)}
${fieldsOf(provider)}
${checksOf(provider)}
${eventOf(provider)}
<h2>Good to know</h2>
<ul>
${provider.docs.pitfalls.map(
  (pitfall) => html`<li>${pitfall}</li>
`,
)}</ul>
${refusals()}
<h2>How this is proven</h2>
<p>${proofOf(provider.verifiedWith)} The provider's own page: ${linked(provider.docs.page)}.</p>`;
}

function promiseOf(provider: Provider): string {
  const { name } = provider;
  return isByAddressAlone(provider)
    ? `Nothing proves that a webhook is of ${name} but that its sender knows the address: keep that secret. What comes in becomes an event`
    : `Webhooks of ${name} are verified at the door; what is genuine becomes an event`;
}

function setUp(provider: Provider): Html {
  return html`<h2>Set up</h2>
<ol>
<li>Make a source. Its answer holds <code>ingest_url</code>, the address for this provider.
<pre><code class="language-bash">${commandFor(provider)}
</code></pre></li>
<li>Enter that address: ${provider.docs.addressAt}</li>
<li>The secret: ${provider.docs.secretAt} ${whoseSecret(provider)}</li>
</ol>
${provider.docs.isChecked ? "" : uncheckedNote(provider)}`;
}

/** The command that makes a source, with examples in place of what only the customer has. */
function commandFor({ key, name, example }: Provider): string {
  const body = JSON.stringify({ provider: key, name, ...example }, null, 2).replaceAll("'", "");
  return `curl -sS http://localhost:8080/v1/sources -H "authorization: Bearer $TEST_KEY" \\
  -H 'content-type: application/json' -d '${body}'`;
}

function whoseSecret({ secretFrom, fields }: Provider): Html {
  const names = fields.filter(({ required }) => required).map(({ name }) => html`<code>${name}</code>`);
  if (secretFrom === "source") {
    return html`It is <code>secret</code> in the answer, which shows it this once; where you have one there already, send it as <code>signing_secret</code>.`;
  }
  if (secretFrom === "none" || names.length === 0) return html``;
  const listed = names.map((name, at) => html`${at > 0 ? ", " : ""}${name}`);
  return html`Where it is shown only after the address was entered, leave ${listed} out of the first call, and send it by <code>PATCH /v1/sources/…</code>: until then the source is <code>awaiting_secret</code>.`;
}

function uncheckedNote({ name }: Provider): Html {
  return html`<p><strong>The way through ${name}'s own pages could not be checked word for word</strong> when this page was made: menus may be called
otherwise there. What is verified does not depend on it.</p>`;
}

const FIELD_HEAD = html`<thead><tr><th>Field</th><th>What it is</th><th>Needed</th></tr></thead>`;

function fieldRow(prefix: string, { name, label, help, required }: Field): Html {
  const path = name === "signing_secret" ? name : `${prefix}.${name}`;
  return html`<tr><td><code>${path}</code></td><td>${label}. ${help}</td><td>${required ? "yes" : "no"}</td></tr>
`;
}

function fieldsOf({ fields, configFields }: Provider): Html {
  const rows = [
    ...fields.map((field) => fieldRow("credentials", field)),
    ...configFields.map((field) => fieldRow("config", field)),
  ];
  if (rows.length === 0) return html``;
  return html`<h2>What the source takes</h2>
<table>
${FIELD_HEAD}
<tbody>
${rows}</tbody>
</table>`;
}

function checksOf(provider: Provider): Html {
  const { headers, checks, needsPublicUrl } = provider;
  return html`<h2>What is verified</h2>
<p>${checks}.${headers.length > 0 ? html` It reads ${headers.map(headerOf)}.` : ""}</p>
<p>${windowOf(provider)}</p>
${needsPublicUrl ? ADDRESS_NOTE : ""}
${handshakesOf(provider)}`;
}

const ADDRESS_NOTE = html`<p>The address is part of it: the one entered must be <code>ingest_url</code>, character for character, or stand in
<code>config.public_url</code>.</p>`;

/** One of a list; a dotted one says in which setting the header is named. */
function headerOf(name: string, at: number): Html {
  const header = name.includes(".")
    ? html`the header named in <code>${name}</code>`
    : html`<code>${name}</code>`;
  return html`${at > 0 ? ", " : ""}${header}`;
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

function handshakesOf({ handshakes }: Provider): Html {
  if (handshakes.length === 0) return html`<p>There is no handshake.</p>`;
  return html`<p>Answered at the door, and never an event:</p>
<ul>
${handshakes.map(
  (text) => html`<li>${text}</li>
`,
)}</ul>`;
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

function eventOf(provider: Provider): Html {
  const { eventType, deliveryId, key, typeExample } = provider;
  return html`<h2>What becomes of it</h2>
<p>${dataOf(provider)}</p>
<pre><code class="language-json">{ "type": "${typeExample}", "timestamp": "…", "data": { "…": "…" } }
</code></pre>
<table>
<tbody>
<tr><th>Type</th><td><code>${key}.</code> and ${eventType === "none" ? html`<code>unknown</code>: it sends none` : eventType}</td></tr>
<tr><th>Identity</th><td>${deliveryId === "none" ? "None: every request is an event of its own" : deliveryId}</td></tr>
</tbody>
</table>
<p>The same identity again is answered with the first event and <code>"duplicate": true</code>, for 30 days${deliveryId.includes("for 10 minutes") ? "; a hash of the body counts for 10 minutes" : ""}.
A request in which no identity is found is an event of its own.
An endpoint that names <code>${key}.*</code> in <code>event_types</code> gets all of them.</p>`;
}

function refusals(): Html {
  return html`<h2>When it is refused</h2>
<p>The answer is an empty 401, whatever the reason. The reasons are counted in <code>counters.rejected</code> of <code>GET /v1/sources/…</code>, over time
in <code>GET /v1/sources/…/stats</code>, and <code>POST /v1/sources/…/verify-sample</code> says what is wrong with a request that you captured.</p>`;
}

function linked(page: string): Html {
  return page.startsWith("https://") ? html`<a href="${page}" rel="noreferrer">${page}</a>` : html`${page}`;
}

const PROOFS = {
  official_sdk: "The provider's own SDK signs or checks the requests of the test suite",
  library: "The library that its page prescribes signs or checks the requests of the test suite",
  vector: "A signed request that the provider published is accepted by the test suite",
  documentation:
    "There is no code and no signed example of the provider's: the check was computed a second time, independently, from",
} as const;

function proofOf(proof: VerifiedWith): Html {
  if ("package" in proof) return html`${PROOFS[proof.kind]}: <code>${proof.package}</code> ${proof.version}.`;
  const glue = proof.kind === "vector" ? ": " : " ";
  return html`${PROOFS[proof.kind]}${glue}${linked(proof.page)}.`;
}
