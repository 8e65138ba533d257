import type { DestinationAbout, DestinationField, KindRow } from "../../destinations/destination.ts";
import { listKinds } from "../../destinations/destinations.ts";
import { ATTEMPT_ERRORS } from "../../core/attempt-error.ts";
import { Html, html } from "./html.ts";

/** The page of all kinds of destinations, made from the rows of their table. */
export function destinationPage(): Html {
  const kinds = listKinds();
  return html`<h1>Destinations</h1>
<p>An endpoint is a destination of one of these kinds. All of them share retries, the log, the timeline, replay and pausing: a delivery to a
queue is <code>delivered</code> when the queue's server said yes, and not before. <code>GET /v1/destination-kinds</code> is the same as data.</p>
<table>
<thead><tr><th>Kind</th><th>Destination</th><th>Largest body</th></tr></thead>
<tbody>
${kinds.map(rowOf)}</tbody>
</table>
<p>An endpoint is made with its kind and a <code>config</code>:</p>
<pre><code class="language-bash">curl -sS "http://localhost:8080/v1/endpoints?verify=true" -H "authorization: Bearer $LIVE_KEY" \\
  -H 'content-type: application/json' -d '{"kind": "…", "config": {"…": "…"}}'
</code></pre>
<p>With <code>verify=true</code> a test message goes there first; where it is not taken, the answer says why and nothing is stored. Credentials are
written, never read: they are encrypted at rest, read <code>***</code>, and sending <code>***</code> back keeps them. Addresses must lead to public
ones, now and at every attempt. A body that is larger than the destination takes is <code>malformed</code> at once.</p>
<p>Where a consumer gets body and headers, it verifies them as it would verify a request: with the endpoint's secret and any library of Standard
Webhooks. An answer that asks to slow down (429, 503, or a code that means it) slows the whole endpoint, as <code>retry-after</code> does.</p>
${kinds.map(sectionOf)}
<h2 id="error-codes">Error codes of attempts</h2>
<p>An attempt that was not delivered has one of these in <code>error_code</code>, or none where its status says it all.
<code>error_detail</code> is what the other side said itself, where there is more.</p>
${codeTable(ATTEMPT_ERRORS)}`;
}

function rowOf({ kind, name, maxBytes }: KindRow): Html {
  return html`<tr><td><a href="#${kind}"><code>${kind}</code></a></td><td>${name}</td><td>${sizeOf(maxBytes)}</td></tr>
`;
}

function sizeOf(bytes: number | null): string {
  return bytes === null ? "no bound of its own" : `${bytes.toLocaleString("en")} bytes`;
}

function sectionOf(row: KindRow): Html {
  const { kind, name, about, fields, maxBytes } = row;
  return html`<h2 id="${kind}">${name}</h2>
${markdown(`\`${kind}\`. ${about.sentAs}`)}
${fieldTable(fields)}
${headersOf(row)}
${markdown(`**Delivered when:** ${about.deliveredWhen} The largest body: ${sizeOf(maxBytes)}.`)}
${about.notes === undefined ? "" : markdown(about.notes)}
${errorsOf(about)}
${markdown(`**Tested against:** ${about.testedAgainst}${about.testedAgainst.endsWith(".") ? "" : "."}`)}
`;
}

function headersOf({ protocolHeaders = [], settableHeaders = [] }: KindRow): Html {
  if (protocolHeaders.length === 0) return html``;
  const list = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");
  const but = settableHeaders.length === 0 ? "" : `, but for ${list(settableHeaders)}`;
  return markdown(`**Headers of its own** that it refuses: ${list(protocolHeaders)}${but}.`);
}

function fieldTable(fields: readonly DestinationField[]): Html {
  if (fields.length === 0) return html``;
  return html`<table>
<thead><tr><th><code>config</code></th><th>What it is</th><th>Needed</th></tr></thead>
<tbody>
${fields.map(
  ({ name, label, help, required, secret }) =>
    html`<tr><td><code>${name}</code></td><td>${label}. ${help}${secret ? " Write-only." : ""}</td><td>${required ? "yes" : "no"}</td></tr>
`,
)}</tbody>
</table>`;
}

function errorsOf({ errors }: DestinationAbout): Html {
  return errors === undefined ? html`` : codeTable(errors);
}

function codeTable(codes: Readonly<Record<string, string>>): Html {
  return html`<table>
<thead><tr><th><code>error_code</code></th><th>What it means</th></tr></thead>
<tbody>
${Object.entries(codes).map(
  ([code, text]) => html`<tr><td><code>${code}</code></td><td>${text}</td></tr>
`,
)}</tbody>
</table>`;
}

/** A text of our own rows. */
function markdown(text: string): Html {
  return new Html(Bun.markdown.html(text));
}
