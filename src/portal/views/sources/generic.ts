import type { Provider, Source } from "../../types.ts";

/** Of no provider in particular: for whatever is not in the list. */
const GENERIC: readonly string[] = [
  "service",
  "hmac",
  "standard_webhooks",
  "standard_webhooks_v1a",
  "basic_auth",
];

export function isGeneric({ key }: Pick<Provider, "key">): boolean {
  return GENERIC.includes(key);
}

/** As sentences call it: where it is any service, the source is named after the one that it is. */
export function called(provider: Provider, { name }: Pick<Source, "name">): Provider {
  return isGeneric(provider) ? { ...provider, name } : provider;
}
