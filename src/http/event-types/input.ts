import { isDeepStrictEqual } from "node:util";
import { type Fault, invalidAll } from "../../core/errors.ts";
import { isEventType } from "../../core/event-type.ts";
import { readBounded } from "../../core/json/bounded.ts";
import type { Json } from "../../core/json/value.ts";
import { limit } from "../../core/limits.ts";
import type { EventType } from "../../core/model.ts";
import { compileSchema, type EventSchema } from "../../core/schema/schema.ts";
import type { NewEventType } from "../../store/resources/event-types.ts";
import type { EventTypeChangeBody, NewEventTypeBody } from "./shape.ts";

/** What a body changes: fields of the type, by their names in the model. */
export type EventTypeChange = Partial<
  Pick<EventType, "description" | "schema" | "example" | "group" | "archived">
>;

/** The type that a body asks for. Throws 422 with every fault. */
export function readNewEventType(body: NewEventTypeBody, projectId: number, now: number): NewEventType {
  const blank: NewEventType = {
    projectId,
    name: body.name,
    description: null,
    schema: null,
    example: null,
    group: null,
    archived: false,
    updatedAt: now,
  };
  const faults: Fault[] = [];
  if (!isEventType(body.name)) faults.push({ pointer: "/name", detail: EXPECTED_NAME });
  return { ...blank, ...changeOf(body, blank, faults) };
}

const EXPECTED_NAME =
  `Expected letters, digits, "_" and "-", in parts joined by ".", ` +
  `of at most ${limit("eventTypeLengthMax")} characters.`;

/**
 * What a body changes of a type as it stands. Throws 422 with every fault, as does what it answers: to be
 * asked again inside the write, which compiles nothing anew where what the body leaves is still the same.
 */
export function readEventTypeChange(
  body: EventTypeChangeBody,
  seen: EventType,
): (current: EventType) => EventTypeChange {
  const change = changeOf(body, seen, []);
  /** What the body leaves as it is, and is checked together with what it changes. */
  const kept = ({ schema, example }: EventType) => [
    body.schema === undefined && schema,
    body.example === undefined && example,
  ];
  return (current) => (isDeepStrictEqual(kept(current), kept(seen)) ? change : changeOf(body, current, []));
}

/** `schema` and `example` are replaced whole: half of another schema would be none. */
function changeOf(body: EventTypeChangeBody, before: NewEventType, faults: Fault[]): EventTypeChange {
  const { description, schema, example, group, archived } = body;
  const change: EventTypeChange = {
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema }),
    ...(example !== undefined && { example }),
    ...(group !== undefined && { group }),
    ...(archived !== undefined && { archived: archived ?? false }),
  };
  if (schema !== undefined || example !== undefined) checkDescription({ ...before, ...change }, faults);
  if (faults.length > 0) throw invalidAll(faults);
  return change;
}

/** The schema has to be one, and the example has to satisfy it, whichever of them is new. */
function checkDescription({ schema, example }: NewEventType, faults: Fault[]): void {
  const compiled = schema === null ? null : compileSchema(schema);
  if (compiled?.ok === false) faults.push(...below("/schema", compiled.faults));
  if (example !== null) checkExample(example as Json, compiled?.ok ? compiled.schema : null, faults);
}

function checkExample(example: Json, schema: EventSchema | null, faults: Fault[]): void {
  const bytesMax = limit("exampleBytesMax");
  const bounds = { bytesMax, depthMax: limit("jsonDepthMax"), nodesMax: bytesMax };
  const bounded = readBounded(example, "An example", bounds);
  if (!bounded.ok) faults.push(...below("/example", [bounded.fault]));
  else if (schema !== null) faults.push(...below("/example", schema.validate(example)));
}

function below(prefix: string, faults: readonly Fault[]): Fault[] {
  return faults.map(({ pointer, detail }) => ({ pointer: prefix + pointer, detail }));
}
