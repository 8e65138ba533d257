import { expect, test } from "bun:test";
import { addUnknownField, type Fault, invalidAll } from "../../src/core/errors.ts";

const faultsOf = (count: number, pointer: (at: number) => string): Fault[] =>
  Array.from({ length: count }, (_, at) => ({ pointer: pointer(at), detail: "Wrong." }));

test("a refusal tells 50 faults, whoever collected more", () => {
  const few = faultsOf(50, (at) => `/a/${at}`);
  expect(invalidAll(few).errors).toEqual(few);
  expect(invalidAll(faultsOf(80_000, (at) => `/a/${at}`)).errors).toEqual(few);
});

test("a pointer with names that no person reads ends at the place that holds them", () => {
  const long = "x".repeat(1000);
  const pointers = [`/config/${long}`, `/config/${long}/${long}`, `/${long}${long}`];
  expect(invalidAll(faultsOf(3, (at) => pointers[at] ?? "")).errors?.map(({ pointer }) => pointer)).toEqual([
    `/config/${long}`,
    `/config/${long}`,
    "",
  ]);
});

test("of fields that nobody knows as many are noted as are told, and no long name", () => {
  const faults: Fault[] = [];
  addUnknownField(faults, "/config", "a/b");
  addUnknownField(faults, "/config", "x".repeat(129), "The kind has no such field.");
  expect(faults).toEqual([
    { pointer: "/config/a~1b", detail: "There is no such field." },
    { pointer: "/config", detail: "This object has a field that does not exist." },
  ]);
  for (let at = 0; at < 80_000; at++) addUnknownField(faults, "", `f${at}`);
  expect(faults).toHaveLength(50);
});
