import { isEventType, isEventTypePattern } from "../../core/event-type.ts";
import { limit } from "../../core/limits.ts";
import { compileSchema } from "../../core/schema/schema.ts";
import { readPrivateKey, readSecret } from "../../core/signing.ts";
import { roundedIn } from "./numbers.ts";
import type { EndpointRecord, EventTypeRecord } from "./records.ts";

/**
 * What of a record Sealpost cannot take, before it is asked: a dry run tells it. Addresses and names of
 * headers are judged by the installation alone.
 */

/** The record with more of `cannot` and `without`, and without what it comes along without. */
export function fittedEventType(record: EventTypeRecord): EventTypeRecord {
  const { name, description } = record;
  const cannot = [...(record.cannot ?? [])];
  const without = [...(record.without ?? [])];
  const fitted = { ...record };
  if (!isEventType(name)) cannot.push(`${name} is no name of an event type here: ${EXPECTED_TYPE}`);
  for (const field of ["schema", "example"] as const) {
    const rounded = roundedIn(record[field]);
    if (rounded === null) continue;
    without.push(`its ${field}, which holds the number ${rounded}: it would be rounded`);
    delete fitted[field];
  }
  const compiled = fitted.schema ? compileSchema(fitted.schema) : null;
  if (compiled?.ok === false) {
    const [fault] = compiled.faults;
    without.push(`its schema, which is refused: ${fault?.pointer ?? ""} ${fault?.detail ?? ""}`);
    delete fitted.schema;
  }
  const max = limit("descriptionLengthMax");
  if ((description?.length ?? 0) > max) {
    without.push(`the end of its description, of which ${max} characters are kept`);
    fitted.description = cutAt(description ?? "", max);
  }
  return { ...fitted, cannot, without };
}

const EXPECTED_TYPE = `letters, digits, "_" and "-" in parts joined by ".", at most ${limit("eventTypeLengthMax")} characters`;

/** The same of an endpoint. */
export function fittedEndpoint(record: EndpointRecord): EndpointRecord {
  const { description, event_types: types, headers, secret, kind = "http" } = record;
  const cannot = [...(record.cannot ?? [])];
  const without = [...(record.without ?? [])];
  const fitted = { ...record };
  const wrong = types?.find((type) => !isEventTypePattern(type));
  if (wrong !== undefined) cannot.push(`it wants ${wrong}, which is no event type here: ${EXPECTED_TYPE}`);
  const rounded = roundedIn(record);
  if (rounded !== null) cannot.push(`it holds the number ${rounded}, which would be rounded`);
  if (types?.length === 0) cannot.push("it wants no event type at all");
  const typesMax = limit("eventTypesPerEndpointMax");
  if ((types?.length ?? 0) > typesMax)
    cannot.push(`it wants ${types?.length} event types, and ${typesMax} can be named: use invoice.* or *`);
  for (const [name, value] of Object.entries(headers ?? {}))
    if (value === null) cannot.push(`the value of its header ${name} is not known: put it in`);
  if (secret !== undefined && readSecret(secret) === null)
    cannot.push("its secret is not whsec_ and 24 to 64 bytes in base64");
  if (record.private_key !== undefined && readPrivateKey(record.private_key) === null)
    cannot.push("its private_key is not whsk_ and a seed of 32 bytes in base64");
  if (secret === undefined && kind === "http")
    cannot.push("it has no secret, and its receiver would refuse all");
  const max = limit("descriptionLengthMax");
  if ((description?.length ?? 0) > max) {
    without.push(`the end of its description, of which ${max} characters are kept`);
    fitted.description = cutAt(description ?? "", max);
  }
  return { ...fitted, cannot, without };
}

/** So many UTF-16 units of a text at the most, and no half of a character. */
function cutAt(text: string, max: number): string {
  const cut = text.slice(0, max);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}
