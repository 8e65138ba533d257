import type { Fault } from "../errors.ts";
import { childPointer, isObject, type Json, type JsonObject, ownField } from "../json/value.ts";
import type { Dialect } from "./dialect.ts";
import { compilePattern, type Pattern, type StateRoom } from "./pattern.ts";
import type { Resource, SchemaNode } from "./run.ts";

/** A `$ref`; its target is found once the whole document is known. */
export interface Reference {
  target: SchemaNode | null;
}

/** What a part needs of the compilation around it. */
export interface SchemaHost {
  readonly dialect: Dialect;
  readonly faults: Fault[];
  readonly room: StateRoom;
  compile(source: Json, pointer: string, resource: Resource): SchemaNode;
  refer(from: SchemaNode, keyword: string, uri: string): Reference;
}

type Place = readonly (string | number)[];

/**
 * One schema object while its keywords are compiled: reads operands, and refuses the wrong ones at their
 * place. A reader answers null where the keyword is missing or was refused; a schema with faults is
 * never run.
 */
export class SchemaPart {
  constructor(
    readonly host: SchemaHost,
    readonly source: JsonObject,
    readonly node: SchemaNode,
  ) {}

  get(keyword: string): Json | undefined {
    return ownField(this.source, keyword);
  }

  refuse(place: Place, detail: string): null {
    this.host.faults.push({ pointer: place.reduce<string>(childPointer, this.node.pointer), detail });
    return null;
  }

  number(keyword: string): number | null {
    const operand = this.get(keyword);
    if (operand === undefined || typeof operand === "number") return operand ?? null;
    return this.refuse([keyword], `"${keyword}" takes a number.`);
  }

  count(keyword: string): number | null {
    const operand = this.get(keyword);
    if (operand === undefined) return null;
    if (typeof operand === "number" && Number.isInteger(operand) && operand >= 0) return operand;
    return this.refuse([keyword], `"${keyword}" takes a whole number that is not negative.`);
  }

  text(keyword: string): string | null {
    const operand = this.get(keyword);
    if (operand === undefined || typeof operand === "string") return operand ?? null;
    return this.refuse([keyword], `"${keyword}" takes a string.`);
  }

  object(keyword: string): JsonObject | null {
    const operand = this.get(keyword);
    if (operand === undefined || isObject(operand)) return operand ?? null;
    return this.refuse([keyword], `"${keyword}" takes an object.`);
  }

  /** A list of different names, as `required` has it. */
  names(operand: Json | undefined, place: Place): string[] | null {
    if (operand === undefined) return null;
    const names = Array.isArray(operand) ? operand.filter((name) => typeof name === "string") : [];
    const isList = Array.isArray(operand) && names.length === operand.length;
    if (isList && new Set(names).size === names.length) return names;
    return this.refuse(place, "A list of different strings must stand here.");
  }

  schema(keyword: string): SchemaNode | null {
    const operand = this.get(keyword);
    return operand === undefined ? null : this.schemaAt([keyword], operand);
  }

  schemaAt(place: Place, source: Json): SchemaNode {
    const pointer = place.reduce<string>(childPointer, this.node.pointer);
    return this.host.compile(source, pointer, this.node.resource);
  }

  schemaList(keyword: string): SchemaNode[] | null {
    const operand = this.get(keyword);
    if (operand === undefined) return null;
    if (!Array.isArray(operand) || operand.length === 0) {
      return this.refuse([keyword], `"${keyword}" takes a list with at least one schema.`);
    }
    return operand.map((source, index) => this.schemaAt([keyword, index], source));
  }

  schemaMap(keyword: string): Map<string, SchemaNode> | null {
    const operand = this.object(keyword);
    if (operand === null) return null;
    return new Map(
      Object.entries(operand).map(([name, source]) => [name, this.schemaAt([keyword, name], source)]),
    );
  }

  pattern(source: string, place: Place): Pattern | null {
    const compiled = compilePattern(source, this.host.room);
    return compiled.ok ? compiled.pattern : this.refuse(place, compiled.detail);
  }

  /** Notes that these nodes judge the same value as this part does. */
  joins(nodes: readonly (SchemaNode | null)[]): void {
    for (const node of nodes) if (node !== null) this.node.inPlace.push(node);
  }
}
