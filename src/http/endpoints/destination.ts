import { addUnknownField, type Fault, Problem } from "../../core/errors.ts";
import { isObject, childPointer } from "../../core/json/value.ts";
import { limit } from "../../core/limits.ts";
import type { Endpoint } from "../../core/model.ts";
import { addressesOf, type DestinationField, type KindRow } from "../../destinations/destination.ts";
import { findKind, listKinds } from "../../destinations/destinations.ts";
import { MASK } from "../../destinations/credential-headers.ts";
import { type AddressJudges, checkSavedAddress } from "../shared/saved-address.ts";
import type { EndpointChangeBody } from "./shape.ts";

/** Where an endpoint delivers to: `config` is what may be read again, `credentials` what may not. */
export type Destination = Pick<Endpoint, "kind" | "config" | "credentials">;

type DestinationBody = Pick<EndpointChangeBody, "kind" | "config" | "url">;

/** The kind that has `url` at the top of its endpoints too. */
const URL_KIND = "http";

/**
 * The destination that a body leaves an endpoint with, as the kind's table of fields has it. `{url}` alone
 * means the kind `http`. Notes what is wrong, each with its pointer; the answer is of no use then.
 */
export function readDestination(body: DestinationBody, before: Destination, faults: Fault[]): Destination {
  const kind = findKind(body.kind ?? before.kind);
  if (kind === undefined) {
    const known = listKinds().map((each) => each.kind);
    faults.push({ pointer: "/kind", detail: `Expected one of ${known.join(", ")}.` });
    return before;
  }
  const isSameKind = kind.kind === before.kind;
  const given = readConfig(kind, body, isSameKind ? before : null, faults);
  if (given === null && isSameKind) return requireConfigured(kind, before, faults);
  return new FieldReader(kind, body, isSameKind ? before : null, faults).read(given ?? {});
}

/**
 * `config` with what stands in the top-level `url`, which by itself changes nothing else of the `stored` one;
 * null where the body has neither.
 */
function readConfig(
  kind: KindRow,
  { config, url }: DestinationBody,
  stored: Destination | null,
  faults: Fault[],
): Readonly<Record<string, unknown>> | null {
  if (url === undefined) return config ?? null;
  const inside = isObject(config) && Object.hasOwn(config, "url") ? Reflect.get(config, "url") : url;
  if (kind.kind !== URL_KIND) {
    faults.push({ pointer: "/url", detail: `Only the kind ${URL_KIND} has a url at the top; use config.` });
    return config ?? null;
  }
  if (inside !== url) {
    faults.push({ pointer: "/url", detail: "This differs from config.url: give one of them." });
  }
  return { ...(config ?? stored?.config), url };
}

/** Nothing was said of the destination: right where there is one already. */
function requireConfigured(kind: KindRow, before: Destination, faults: Fault[]): Destination {
  const isMissing = ({ name, required }: DestinationField) =>
    required && !Object.hasOwn(before.config, name) && !Object.hasOwn(before.credentials, name);
  if (kind.fields.some(isMissing)) {
    const pointer = kind.kind === URL_KIND ? "/url" : "/config";
    faults.push({ pointer, detail: "This field is required." });
  }
  return before;
}

/** Reads the fields of one kind out of a body; `stored` is what `***` stands for. */
class FieldReader {
  constructor(
    private readonly kind: KindRow,
    private readonly body: DestinationBody,
    private readonly stored: Destination | null,
    private readonly faults: Fault[],
  ) {}

  read(given: Readonly<Record<string, unknown>>): Destination {
    const config: Record<string, string | boolean> = {};
    const credentials: Record<string, string> = {};
    for (const field of this.kind.fields) {
      const value = this.readField(field, Object.hasOwn(given, field.name) ? given[field.name] : null);
      if (value === null) continue;
      if (field.secret && typeof value === "string") credentials[field.name] = value;
      else config[field.name] = value;
    }
    this.refuseUnknown(given);
    return { kind: this.kind.kind, config, credentials };
  }

  /** The field's value; null where it is not given, or wrong. */
  private readField(field: DestinationField, value: unknown): string | boolean | null {
    if (value === null) return field.required ? this.refuse(field.name, "This field is required.") : null;
    if (field.type === "boolean") {
      return typeof value === "boolean" ? value : this.refuse(field.name, "Expected true or false.");
    }
    if (typeof value !== "string" || value === "") return this.refuse(field.name, "Expected a string.");
    if (field.secret && value === MASK) return this.storedCredential(field.name);
    const fault = faultOf(field, value);
    return fault === null ? value : this.refuse(field.name, fault);
  }

  private storedCredential(name: string): string | null {
    const credentials = this.stored?.credentials ?? {};
    return (
      (Object.hasOwn(credentials, name) ? credentials[name] : null) ??
      this.refuse(name, `Nothing is stored yet that ${MASK} could stand for.`)
    );
  }

  private refuseUnknown(given: Readonly<Record<string, unknown>>): void {
    const names = new Set(this.kind.fields.map(({ name }) => name));
    for (const name of Object.keys(given)) {
      if (names.has(name)) continue;
      addUnknownField(this.faults, "/config", name, `The kind ${this.kind.kind} has no such field.`);
    }
  }

  private refuse(name: string, detail: string): null {
    this.faults.push({ pointer: pointerOf(this.body, name), detail });
    return null;
  }
}

function pointerOf({ url }: DestinationBody, name: string): string {
  return name === "url" && url !== undefined ? "/url" : childPointer("/config", name);
}

function faultOf({ pattern, address, check }: DestinationField, value: string): string | null {
  const max = limit(address ? "urlLengthMax" : "configValueLengthMax");
  if (value.length > max) return `Expected at most ${max} characters.`;
  // No URL, no header and no UTF-8 can hold it.
  if (!value.isWellFormed()) return "Expected text without half a character (a lone surrogate).";
  if (pattern !== undefined && !new RegExp(`^(?:${pattern})$`).test(value)) {
    return `Expected a string that matches ${pattern}.`;
  }
  if (address && !URL.canParse(value)) return "Expected a URL, with https:// before the host.";
  return check?.(value) ?? null;
}

/**
 * Asks the address guard for every address of a destination that the body gives. Throws 422
 * `unsafe_destination` with the pointer of the first that is refused.
 */
export async function requireSafeDestination(
  judges: AddressJudges,
  body: DestinationBody,
  destination: Destination & Pick<Endpoint, "projectId">,
): Promise<void> {
  if (body.url === undefined && body.config === undefined) return;
  const kind = findKind(destination.kind);
  if (kind === undefined) return;
  for (const { field, url } of addressesOf(kind, { ...destination.config, ...destination.credentials })) {
    const verdict = await checkSavedAddress(judges, destination.projectId, url);
    if (verdict.ok) continue;
    const errors = [{ pointer: pointerOf(body, field), detail: verdict.reason }];
    throw new Problem("unsafe_destination", verdict.reason, { errors });
  }
}
