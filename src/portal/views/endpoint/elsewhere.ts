import type { DestinationKind } from "../../types.ts";

/**
 * True where the form leads to another destination than the one that is stored, and what is stored must not
 * be used for it: whoever has a link cannot read it, and the API refuses it too. A URL leads elsewhere by its
 * host; of every other kind all fields say together what is done with the credentials.
 */
export function leadsElsewhere(
  { kind, fields }: Pick<DestinationKind, "kind" | "fields">,
  stored: Readonly<Record<string, unknown>>,
  values: Readonly<Record<string, unknown>>,
): boolean {
  return fields.some(({ name, address, secret }) => {
    const typed = textOf(values[name]).trim();
    if (kind !== "http") return !secret && typed !== textOf(stored[name]);
    // What is no address yet leads nowhere.
    if (!address || (typed !== "" && originOf(typed) === null)) return false;
    return originOf(typed) !== originOf(stored[name]);
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "boolean" || typeof value === "number"
    ? String(value)
    : "";
}

function originOf(address: unknown): string | null {
  if (typeof address !== "string" || !URL.canParse(address)) return null;
  const { protocol, origin } = new URL(address);
  return /^https?:$/.test(protocol) ? origin : null;
}
