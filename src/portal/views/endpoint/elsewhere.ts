import { may } from "../../session.ts";
import type { FormField } from "../../types.ts";
import type { ConfigValues } from "../parts/config-form.tsx";

/**
 * True where an address in the form leads to another host than the one that is stored, and what is stored must not go along: whoever
 * has a link cannot read it, and the API refuses it too.
 */
export function leadsElsewhere(
  fields: readonly FormField[],
  stored: Readonly<Record<string, unknown>>,
  values: ConfigValues,
): boolean {
  if (may.moveCredentials) return false;
  return fields.some(({ name, address }) => {
    if (!address) return false;
    const typed = String(values[name] ?? "").trim();
    // What is no address yet leads nowhere.
    if (typed !== "" && originOf(typed) === null) return false;
    return originOf(typed) !== originOf(stored[name]);
  });
}

function originOf(address: unknown): string | null {
  if (typeof address !== "string" || !URL.canParse(address)) return null;
  const { protocol, origin } = new URL(address);
  return /^https?:$/.test(protocol) ? origin : null;
}
