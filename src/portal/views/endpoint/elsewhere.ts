import type { DestinationKind } from "../../types.ts";

/**
 * True where the form leads to another destination than the one that is stored, and what is stored must not
 * be used for it: whoever has a link cannot read it, and the API refuses it too. All fields say together what
 * is done with the credentials; of a URL the path counts too, as one host may serve many.
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
    if (!address || (typed !== "" && hrefOf(typed) === null)) return false;
    return hrefOf(typed) !== hrefOf(stored[name]);
  });
}

/**
 * True where the form sends another header than the ones that are stored; their order says nothing. A stored
 * credential that is typed stays in the form after it was saved: it is no other.
 */
export function hasOtherHeaders(
  stored: Readonly<Record<string, string>>,
  rows: readonly (readonly [name: string, value: string])[],
  mask: string,
): boolean {
  const sent = new Map(rows.filter(([name]) => name !== "").map(([name, value]) => [lower(name), value]));
  const names = Object.keys(stored);
  const isOther = (name: string) => {
    const value = sent.get(lower(name));
    return value === undefined || (stored[name] !== mask && value !== stored[name]);
  };
  return sent.size !== names.length || names.some(isOther);
}

function lower(name: string): string {
  return name.trim().toLowerCase();
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "boolean" || typeof value === "number"
    ? String(value)
    : "";
}

function hrefOf(address: unknown): string | null {
  if (typeof address !== "string" || !URL.canParse(address)) return null;
  const { protocol, href } = new URL(address);
  return /^https?:$/.test(protocol) ? href : null;
}
