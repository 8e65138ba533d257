import { expect, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import type { EventType } from "../../../src/core/model.ts";
import { EventTypes } from "../../../src/store/resources/event-types.ts";

function emptyTypes(): EventTypes {
  const db = { select: () => ({ from: () => ({ all: () => [] }) }) };
  return new EventTypes({} as never, db as never);
}

const typeWith = (id: number, schema: unknown) =>
  ({ id, projectId: 1, name: `heavy.${id}`, schema }) as unknown as EventType;

/** Each with the most states that a schema's patterns may have: some 1.7 MB, by a body of 60 bytes. */
const heavy = (id: number) => typeWith(id, { properties: { a: { pattern: `^[a-z]{19000}${id}$` } } });

test("compiled schemas are kept up to a weight, those that were used last", () => {
  const types = emptyTypes();
  const light = typeWith(0, { type: "object" });
  const kept = types.schemaOf(light);
  for (let id = 1; id <= 70; id++) {
    const type = heavy(id);
    expect(types.schemaOf(type)?.validate({ a: `x${id}` })).toHaveLength(1);
    expect(types.schemaOf(type)).toBe(types.schemaOf(type));
    expect(types.schemaOf(light)).toBe(kept);
    expect(types.compiledBytes).toBeLessThanOrEqual(limit("compiledSchemasBytesMax"));
  }
  expect(types.compiledBytes).toBeGreaterThan(limit("compiledSchemasBytesMax") / 2);
});

test("a type that has changed, or is gone, leaves nothing compiled", () => {
  const types = emptyTypes();
  const before = heavy(1);
  types.remember(before);
  types.schemaOf(before);
  const after = { ...before, schema: { type: "object" } };
  types.remember(after);
  expect(types.compiledBytes).toBe(0);
  expect(types.schemaOf(after)?.validate({ a: "x" })).toEqual([]);
  types.forget(after);
  expect(types.compiledBytes).toBe(0);
  expect(types.schemaOf(typeWith(2, null))).toBeNull();
});
