/**
 * What filters, schemas and transformations count in steps, and what they take in time: each leaf of schemas
 * where nobody hears of its faults, then rules and data made at random, both as large as a caller may make
 * them, and of each shape in turn. It prints the dearest, and fails where one evaluation takes longer than
 * `--worst` milliseconds of processor time: then there is work that no step counts.
 *
 *   bun test/bench/steps.ts [--seconds 60] [--from 1] [--worst 200]
 */
import { parseArgs } from "node:util";
import type { Json } from "../../src/core/json/value.ts";
import { compileFilter } from "../../src/core/filter/filter.ts";
import { compileSchema } from "../../src/core/schema/schema.ts";
import { compileTransformations } from "../../src/core/transform/transform.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    from: { type: "string", default: "1" },
    worst: { type: "string", default: "200" },
  },
});

const BYTES = 1024 * 1024;

/** As many of them as a body of a megabyte holds. */
function many(one: (at: number) => Json): Json[] {
  const count = Math.floor(BYTES / (JSON.stringify(one(1000)).length + 1));
  return Array.from({ length: count }, (_, at) => one(at));
}

function named(one: (at: number) => Json): Json {
  return Object.fromEntries(many((at) => [`k${at}`, one(at)]).map((entry) => entry as [string, Json]));
}

/** Names that begin alike: they are told apart by their ends only. */
function longName(length: number, at: number): string {
  return `${"n".repeat(length)}${at}`;
}

function longNamed(length: number): Json {
  const count = Math.floor(BYTES / (length + 10));
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [longName(length, at), at]));
}

/** Of the names that rules may have: a few of them fill a rule. */
const NAMED_LENGTH = 1000;

const DATA: Readonly<Record<string, Json>> = {
  numbers: many((at) => at % 10),
  texts: many((at) => `text ${at}`),
  // Each of their characters is six in an excerpt.
  "texts of escapes": many(() => "\ud800".repeat(80)),
  "empty lists": many(() => []),
  "empty objects": many(() => ({})),
  lists: many((at) => [at, 1, "a"]),
  objects: many((at) => ({ a: at, b: [1] })),
  fields: named(() => 1),
  "fields of lists": named(() => [1, {}]),
  "a text": "a".repeat(BYTES),
  "a list of a long list": [[many(() => 0)]],
  "a name of a megabyte": longNamed(1_000_000),
  "names of 100 KB": longNamed(100_000),
  "names of 1 KB": longNamed(NAMED_LENGTH),
  "objects with names of 1 KB": Array.from({ length: 1000 }, (_, at) => ({
    [longName(NAMED_LENGTH, at % 9)]: at,
  })),
  "long texts that are equal": ["n".repeat(500_000), "n".repeat(500_000)],
  "great numbers": many(() => 1.7e308),
};

/** A generator of its own: a seed gives the same rules on each machine. */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Schemas without others in them. */
const LEAVES: readonly Json[] = [
  { type: "string" },
  { type: "null" },
  { enum: [0.5] },
  { maximum: -1 },
  { minLength: 1 },
  { maxLength: 1 },
  ...[2, 0.3, 5e-324].map((divisor) => ({ multipleOf: divisor })),
  { pattern: "^(a|b)+$" },
  { uniqueItems: true },
  { required: ["b"] },
];
/** As many of the longest as a schema holds. */
const ALTERNATIVES = 1400;

/** Each leaf, as very many alternatives for each element: nobody hears of what does not hold. */
const TRIED = LEAVES.map((leaf) => ({ items: { if: { anyOf: Array<Json>(ALTERNATIVES).fill(leaf) } } }));

class Maker {
  constructor(private readonly random: () => number) {}

  below(count: number): number {
    return Math.floor(this.random() * count);
  }

  one<Choice>(...choices: readonly [Choice, ...Choice[]]): Choice {
    return choices[this.below(choices.length)] ?? choices[0];
  }

  /** What one of them makes: the others are not asked. */
  any(...makers: readonly [() => Json, ...(() => Json)[]]): Json {
    return this.one(...makers)();
  }

  /** One, a few, or very many; often the same, so that what costs no step costs nothing many times. */
  list<Made extends Json>(make: () => Made, most: number): Made[] {
    const first = make();
    const again = this.one(make, () => first);
    return [first, ...Array.from({ length: this.one(0, 2, most - 1) }, again)];
  }

  value(depth = 2): Json {
    if (depth === 0 || this.below(2) === 0)
      return this.one<Json>(0, 1, -1, "a", "text 7", "", true, null, "a".repeat(200), this.name());
    const inner = () => this.value(depth - 1);
    return this.any(
      () => [],
      () => ({}),
      () => [inner()],
      () => ({ [this.name()]: inner() }),
    );
  }

  /** Of a field: one that the data may have. */
  name(): string {
    return this.one("a", `k${this.below(99)}`, longName(NAMED_LENGTH, this.below(9)));
  }

  filter(depth = 3): Json {
    if (depth === 0 || this.below(3) === 0) return this.clause();
    const inner = () => this.filter(depth - 1);
    const all = () => this.list(inner, depth === 3 ? 100 : 3);
    return this.any(
      () => ({ $and: all() }),
      () => ({ $or: all() }),
      () => ({ $not: inner() }),
      () => ({ [this.name()]: inner() }),
    );
  }

  clause(): Json {
    const members = () => this.list(() => this.value(), 200);
    const text = this.one("a", "text", "a".repeat(100), `${"a".repeat(50)}b`);
    return this.any(
      () => ({ $eq: this.value() }),
      () => ({ $neq: this.value() }),
      () => ({ $in: members() }),
      () => ({ $nin: members() }),
      () => ({ $gt: this.one<Json>(5, text) }),
      () => ({ $startsWith: text }),
      () => ({ $contains: text }),
      () => ({ $exist: true }),
    );
  }

  schema(depth = 3): Json {
    if (depth === 0) return this.one<Json>(true, { const: this.value() }, ...LEAVES);
    const inner = () => this.schema(depth - 1);
    const all = () => this.list(inner, depth === 3 ? 300 : 3);
    const names = () => {
      const name = this.one(
        (at: number) => `k${at}`,
        () => this.name(),
      );
      return Object.fromEntries(Array.from({ length: this.one(1, 50) }, (_, at) => [name(at), inner()]));
    };
    return this.any(
      () => ({ allOf: all() }),
      () => ({ anyOf: all() }),
      () => ({ oneOf: all() }),
      () => ({ not: inner() }),
      () => ({ items: inner() }),
      () => ({ prefixItems: all() }),
      () => ({ prefixItems: all(), unevaluatedItems: inner() }),
      () => ({ contains: inner(), unevaluatedItems: inner() }),
      () => ({ uniqueItems: true }),
      () => ({ enum: this.list(() => this.value(), 200) }),
      () => ({ properties: names() }),
      () => ({ additionalProperties: inner() }),
      () => ({ patternProperties: { "^k.*1$": inner() }, unevaluatedProperties: inner() }),
      () => ({ propertyNames: inner() }),
      () => ({ minProperties: 1, minItems: 1 }),
      () => ({ required: Object.keys(names()) }),
      () => ({ dependentRequired: { [this.name()]: Object.keys(names()) } }),
      () => ({ dependentSchemas: { [this.name()]: inner() } }),
      () => Object.fromEntries(["if", "then", "else"].map((name) => [name, inner()])),
    );
  }

  /** One schema, or one that the whole refers to very many times: its text is no bound then. */
  schemas(): Json {
    if (this.below(2) === 0) return this.schema();
    const all = Array.from({ length: this.one(2, 1300) }, () => ({ $ref: "#/$defs/one" }));
    const one = this.any(
      () => ({ const: this.value() }),
      () => ({ enum: this.list(() => this.value(), 20) }),
      () => this.schema(1),
      () => this.schema(2),
    );
    return { $defs: { one }, [this.one("allOf", "anyOf", "oneOf")]: all };
  }

  operations(): Json {
    return this.list(() => this.operation(), 32);
  }

  operation(): Json {
    const paths = () => [...new Set(this.list(() => this.path(), 256))];
    const plain = () => this.path().replaceAll("*", "0");
    return this.any(
      () => ({ op: "pick", paths: paths() }),
      () => ({ op: "omit", paths: paths() }),
      () => ({ op: "set", path: plain(), value: this.value() }),
      () => ({ op: "rename", from: plain(), to: `${plain()}.z` }),
      () => ({ op: "wrap", key: "data" }),
    );
  }

  path(): string {
    const name = () => this.one("*", "0", "1", this.name(), `k${this.below(99)}`, String(this.below(300)));
    return ["data", "x", ...Array.from({ length: this.below(4) }, name)].join(".");
  }
}

/** A rule, as it is written, and how it is run over data; null where it is refused. */
interface Rule {
  kind: string;
  source: Json;
  run: (() => unknown) | null;
}

function schemaRule(source: Json, x: Json): Rule {
  const compiled = compileSchema(source);
  return { kind: "schema", source, run: compiled.ok ? () => compiled.schema.validate(x) : null };
}

function ruleOf(maker: Maker, x: Json): Rule {
  const kind = maker.one("filter", "schema", "transformations");
  const body: Json = { type: "bench.steps", data: { x } };
  if (kind === "schema") return schemaRule(maker.schemas(), x);
  if (kind === "filter") {
    const source = { data: { x: maker.filter() } };
    const compiled = compileFilter(source);
    return { kind, source, run: compiled.ok ? () => compiled.filter.evaluate(body) : null };
  }
  const source = maker.operations();
  const compiled = compileTransformations(source);
  return { kind, source, run: compiled.ok ? () => compiled.transformation.apply(body) : null };
}

const dearest: { ms: number; text: string }[] = [];
let [ran, refused] = [0, 0];

function measure(name: string, shape: string, { kind, source, run }: Rule): void {
  if (run === null) {
    refused++;
    return;
  }
  ran++;
  const before = process.threadCpuUsage();
  run();
  const after = process.threadCpuUsage();
  const ms = (after.user + after.system - before.user - before.system) / 1000;
  dearest.push({ ms, text: `${name}: ${kind} over ${shape}: ${JSON.stringify(source).slice(0, 200)}` });
  dearest.sort((one, other) => other.ms - one.ms).splice(8);
}

const until = performance.now() + Number(options.seconds) * 1000;
const shapes = Object.entries(DATA) as [[string, Json], ...[string, Json][]];
for (const [shape, x] of shapes) for (const source of TRIED) measure("tried", shape, schemaRule(source, x));
for (let seed = Number(options.from); performance.now() < until; seed++) {
  const maker = new Maker(randomOf(seed));
  const [shape, x] = maker.one(...shapes);
  measure(`seed ${seed}`, shape, ruleOf(maker, x));
}
console.log(`${ran} rules ran, ${refused} were refused; the dearest:`);
for (const { ms, text } of dearest) console.log(`${ms.toFixed(0).padStart(7)} ms  ${text}`);
process.exit((dearest[0]?.ms ?? 0) > Number(options.worst) ? 1 : 0);
