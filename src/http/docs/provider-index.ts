import type { Provider, VerifiedWith } from "../../inbound/provider.ts";
import { listProviders } from "../../inbound/providers.ts";
import { type Html, html } from "./html.ts";

/** The page that lists all providers. */
export function providerIndex(): Html {
  const providers = [...listProviders()].toSorted((a, b) => a.name.localeCompare(b.name, "en"));
  return html`<h1>Providers</h1>
<p>Webhooks of these ${providers.length} senders are verified at the door before they become events, as far as each makes that possible: those
verified by <em>address</em> prove nothing but that they know the source's address, which nobody can guess. A source is an address for one of
them; each page says how it is set up, what is verified and what becomes of it. <code>GET /v1/providers</code> is the same as data.</p>
<table>
<thead><tr><th>Provider</th><th>Key</th><th>Verified by</th><th>The secret</th><th>Proven by</th></tr></thead>
<tbody>
${providers.map(rowOf)}</tbody>
</table>`;
}

/** Where a provider's secret comes from, in a few words. */
const SECRET_FROM = {
  source: "the source's own, or yours",
  customer: "the provider's: you enter it",
  provider: "nothing to copy",
  none: "none",
} as const;

const PROOFS = {
  official_sdk: "its own SDK",
  library: "a library",
  vector: "a published request",
  documentation: "documentation",
} as const;

/** What stands behind a row, in a few words. */
function proofOf({ kind }: VerifiedWith): string {
  return PROOFS[kind];
}

function rowOf({ key, name, scheme, secretFrom, verifiedWith }: Provider): Html {
  return html`<tr><td><a href="/docs/providers/${key}">${name}</a></td><td><code>${key}</code></td><td>${scheme.replaceAll("_", " ")}</td><td>${SECRET_FROM[secretFrom]}</td><td>${proofOf(verifiedWith)}</td></tr>
`;
}
