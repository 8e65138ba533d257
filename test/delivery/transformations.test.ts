import { expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { compiledTransformations, transformationOf } from "../../src/delivery/transformations.ts";

const deep = (at: number) => `a${at}.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p`;
const paths = Array.from({ length: 50 }, (_, at) => deep(at));
const heavy = () => Array.from({ length: 32 }, () => ({ op: "pick", paths }));
const endpointWith = (transformations: unknown) => ({ transformations }) as Endpoint;

test("compiled transformations are kept up to a weight, those that were used last", () => {
  const light = endpointWith([{ op: "omit", paths: ["data.secret"] }]);
  const kept = transformationOf(light);
  for (let at = 0; at < 20; at++) {
    transformationOf(endpointWith(heavy()));
    expect(transformationOf(light)).toBe(kept);
    expect(compiledTransformations.weight).toBeLessThanOrEqual(limit("compiledTransformationsBytesMax"));
  }
  expect(compiledTransformations.size).toBeLessThan(12);
  expect(transformationOf(endpointWith(null))).toBeNull();
});
