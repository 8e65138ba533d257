import type { Fault } from "../errors.ts";
import { childPointer, excerpt, isObject, type Json, type JsonObject } from "../json/value.ts";
import { weightOf } from "../json/weight.ts";
import { limit } from "../limits.ts";
import { compileAnnotations, compileDefinitions } from "./annotations.ts";
import * as arrays from "./arrays.ts";
import * as logic from "./logic.ts";
import * as objects from "./objects.ts";
import { type Dialect, dialectOf } from "./dialect.ts";
import { type Reference, type SchemaHost, SchemaPart } from "./part.ts";
import { findEndless, ReferenceTable } from "./references.ts";
import type { Check, Resource, SchemaNode } from "./run.ts";
import * as values from "./values.ts";

type KeywordCompiler = (part: SchemaPart) => Check | null;

/** What both drafts say alike, in the order in which values are judged. */
const COMMON: readonly KeywordCompiler[] = [
  compileAnnotations,
  compileDefinitions,
  values.compileType,
  values.compileEnum,
  values.compileConst,
  values.compileMinimum,
  values.compileMaximum,
  values.compileAbove,
  values.compileBelow,
  values.compileMultiple,
  values.compileLength,
  values.compileTextPattern,
  arrays.compileItemCount,
  arrays.compileUnique,
  arrays.compileContains,
  objects.compileRequired,
  objects.compileFieldCount,
  objects.compileFieldNames,
  objects.compileFields,
  objects.compileDependencies,
  logic.compileAllOf,
  logic.compileAnyOf,
  logic.compileOneOf,
  logic.compileNot,
  logic.compileIf,
];

/** The `unevaluated…` keywords stand last, as they judge what all others left. */
const KEYWORDS: Readonly<Record<Dialect, readonly KeywordCompiler[]>> = {
  "2020-12": [
    ...COMMON,
    logic.compileRef,
    logic.compileDynamicRef,
    arrays.compileItems,
    objects.compileDependentRequired,
    objects.compileDependentSchemas,
    arrays.compileUnevaluatedItems,
    objects.compileUnevaluatedFields,
  ],
  "draft-07": [...COMMON, arrays.compileItemsOfDraft07],
};

/** In draft-07 a `$ref` stands alone: what is beside it is ignored. */
const REF_ALONE: readonly KeywordCompiler[] = [logic.compileRef];

/** What a part of a schema, and a state of a pattern, takes in memory, about. */
const NODE_BYTES = 1300;
const STATE_BYTES = 125;

function newNode(pointer: string, resource: Resource): SchemaNode {
  return { pointer, checks: [], resource, collects: false, inPlace: [] };
}

/** Compiles one document: its schemas to nodes, then its references to the nodes that they mean. */
export class SchemaCompiler implements SchemaHost {
  readonly faults: Fault[] = [];
  readonly room = { statesLeft: limit("patternStatesMax") };
  readonly #nodes: SchemaNode[] = [];
  /** By the object itself: a pointer may hold a long name, which would be written out for each node below. */
  readonly #ofObject = new Map<JsonObject, SchemaNode>();
  readonly #references: ReferenceTable;
  /** One for every `true` and `{}`, and one for every `false`: a document may have very many. */
  readonly #anything: SchemaNode;
  readonly #nothing: SchemaNode;
  readonly #pending: { from: SchemaNode; keyword: string; uri: string; reference: Reference }[] = [];

  constructor(
    readonly document: JsonObject,
    readonly dialect: Dialect,
  ) {
    this.#references = new ReferenceTable(document);
    this.#anything = newNode("", this.#references.document);
    this.#nothing = newNode("", this.#references.document);
    this.#nothing.checks.push((_value, run) => run.fail(() => "Nothing is allowed here."));
  }

  /** What all that was compiled takes in memory, about. */
  get weight(): number {
    const states = limit("patternStatesMax") - this.room.statesLeft;
    const own = NODE_BYTES * this.#nodes.length + this.#references.length;
    return weightOf(this.document) + own + STATE_BYTES * states;
  }

  compileDocument(): SchemaNode {
    const root = this.compile(this.document, "", this.#references.document);
    for (let next = this.#pending.shift(); next !== undefined; next = this.#pending.shift()) {
      next.reference.target = this.#findTarget(next.uri, next.from, next.keyword);
    }
    const endless = findEndless(this.#nodes);
    if (endless !== null)
      this.#refuse(endless.pointer, "This schema refers to itself without going into the data.");
    return root;
  }

  #refuse(pointer: string, detail: string): null {
    this.faults.push({ pointer, detail });
    return null;
  }

  compile(source: Json, pointer: string, resource: Resource): SchemaNode {
    if (source === true || (isObject(source) && Object.keys(source).length === 0)) return this.#anything;
    if (source === false) return this.#nothing;
    const known = this.#knownNode(source);
    if (known !== undefined) return known;
    const node = newNode(pointer, resource);
    this.#nodes.push(node);
    if (!isObject(source)) this.#refuse(pointer, "A schema is an object, true or false.");
    else {
      this.#ofObject.set(source, node);
      this.#compileObject(source, node);
    }
    return node;
  }

  #knownNode(source: Json): SchemaNode | undefined {
    return isObject(source) ? this.#ofObject.get(source) : undefined;
  }

  #compileObject(source: JsonObject, node: SchemaNode): void {
    const part = new SchemaPart(this, source, node);
    const isRefAlone = this.dialect === "draft-07" && part.get("$ref") !== undefined;
    if (!isRefAlone) this.#references.identify(part);
    if (part.get("$schema") !== undefined && dialectOf(part.get("$schema")) !== this.dialect) {
      part.refuse(["$schema"], "One document has one dialect.");
    }
    for (const compileKeyword of isRefAlone ? REF_ALONE : KEYWORDS[this.dialect]) {
      const check = compileKeyword(part);
      if (check !== null) node.checks.push(check);
    }
  }

  refer(from: SchemaNode, keyword: string, uri: string): Reference {
    const reference = { target: null };
    this.#pending.push({ from, keyword, uri, reference });
    return reference;
  }

  #findTarget(uri: string, from: SchemaNode, keyword: string): SchemaNode | null {
    const pointer = childPointer(from.pointer, keyword);
    const place = this.#references.resolve(uri, from.resource);
    if (place === null) {
      return this.#refuse(
        pointer,
        `${excerpt(uri)} leads out of this schema; only references within it are followed.`,
      );
    }
    const { resource, fragment } = place;
    const isPointer = fragment === "" || fragment.startsWith("/");
    const target = isPointer ? this.#nodeAt(resource, fragment) : (resource.anchors.get(fragment) ?? null);
    if (target === null) return this.#refuse(pointer, `There is no schema at ${excerpt(uri)}.`);
    from.inPlace.push(target);
    return target;
  }

  /**
   * The node at a pointer in a resource; one that no keyword led to is compiled now. The way to the resource
   * is not walked: its names may be long, and many references lead into it.
   */
  #nodeAt(resource: Resource, fragment: string): SchemaNode | null {
    let value: Json | undefined = resource.source;
    let { pointer } = resource;
    let around = resource;
    for (const name of fragment.split("/").slice(1).map(unescapeName)) {
      if (value === undefined) return null;
      around = this.#knownNode(value)?.resource ?? around;
      value = childOf(value, name);
      pointer = childPointer(pointer, name);
    }
    if (typeof value !== "boolean" && !isObject(value)) return null;
    return this.compile(value, pointer, around);
  }
}

function unescapeName(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

function childOf(value: Json | undefined, name: string): Json | undefined {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
