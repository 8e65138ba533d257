import type { Provider, VerifiedWith } from "../../inbound/provider.ts";
import { listProviders } from "../../inbound/providers.ts";
import { blocks, code, plain, table } from "./markdown.ts";

/** The page that lists all providers, in Markdown. */
export function providerIndex(): string {
  const providers = [...listProviders()].toSorted((a, b) => a.name.localeCompare(b.name, "en"));
  return blocks([
    "# Providers",
    `Webhooks of these ${providers.length} senders are verified at the door before they become events, as far as each makes that possible: those
verified by *address* prove nothing but that they know the source's address, which nobody can guess. A source is an address for one of
them; each page says how it is set up, what is verified and what becomes of it. \`GET /v1/providers\` is the same as data.`,
    table(["Provider", "Key", "Verified by", "The secret", "Proven by"], providers.map(rowOf)),
  ]);
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

function rowOf({ key, name, scheme, secretFrom, verifiedWith }: Provider): string[] {
  return [
    `[${plain(name)}](providers/${key}.md)`,
    code(key),
    scheme.replaceAll("_", " "),
    SECRET_FROM[secretFrom],
    proofOf(verifiedWith),
  ];
}
