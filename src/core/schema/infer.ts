import { isObject, type Json, type JsonObject } from "../json/value.ts";

/**
 * How deep a proposal describes; the next smaller depth is taken while it is too large to be a schema
 * of ours.
 */
const DEPTHS = [12, 6, 3, 1, 0] as const;

/** The size of a schema that is accepted, in bytes, with room for what people add. */
const PROPOSAL_BYTES_MAX = 24 * 1024;

/** An object with more names, or with longer ones, is a map by some id rather than a record. */
const NAMES_MAX = 100;
const NAME_LENGTH_MAX = 128;

/** Places that are told apart; a proposal of more would be too large anyway. */
const PLACES_MAX = 5000;

/**
 * A first schema that all samples satisfy, from what they have in common: their types, and `required` where a
 * field was always there. Nothing is guessed that samples cannot show: no enums, no formats, no bounds, and
 * further fields are allowed. Samples are given one by one and not kept.
 */
export class SchemaInference {
  readonly #room = { placesLeft: PLACES_MAX };
  readonly #root = new Place(this.#room);

  add(sample: Json): void {
    this.#root.add(sample, DEPTHS[0]);
  }

  propose(): JsonObject {
    for (const depth of DEPTHS) {
      const schema = this.#proposal(depth);
      if (Buffer.byteLength(JSON.stringify(schema)) <= PROPOSAL_BYTES_MAX) return schema;
    }
    return this.#proposal(0);
  }

  #proposal(depth: number): JsonObject {
    return { $schema: "https://json-schema.org/draft/2020-12/schema", ...this.#root.describe(depth) };
  }
}

interface Room {
  placesLeft: number;
}

/** What was seen at one place of the samples. */
class Place {
  readonly #types = new Set<string>();
  #objects = 0;
  /** Null once there are too many names to be a record. */
  #fields: Map<string, { place: Place; count: number }> | null = new Map();
  #elements: Place | null = null;

  constructor(private readonly room: Room) {
    room.placesLeft--;
  }

  /** Notes a value and, `depth` levels down, what is in it. */
  add(value: Json, depth: number): void {
    this.#types.add(typeOf(value));
    if (depth === 0) return;
    if (isObject(value)) this.#addFields(value, depth);
    if (!Array.isArray(value) || value.length === 0) return;
    this.#elements ??= new Place(this.room);
    for (const element of value) this.#elements.add(element, depth - 1);
  }

  #addFields(object: JsonObject, depth: number): void {
    this.#objects++;
    for (const name in object) {
      if (this.#fields === null) return;
      this.#addField(this.#fields, name, object[name] as Json, depth);
    }
  }

  #addField(
    fields: Map<string, { place: Place; count: number }>,
    name: string,
    value: Json,
    depth: number,
  ): void {
    const known = fields.get(name);
    if (!known && (fields.size === NAMES_MAX || name.length > NAME_LENGTH_MAX || this.room.placesLeft <= 0)) {
      this.#fields = null;
      return;
    }
    const field = known ?? { place: new Place(this.room), count: 0 };
    field.count++;
    field.place.add(value, depth - 1);
    fields.set(name, field);
  }

  /** As a schema; `{}`, anything, where nothing was seen. */
  describe(depth: number): JsonObject {
    const types = [...this.#types].filter((type) => type !== "integer" || !this.#types.has("number")).sort();
    const [type] = types;
    if (type === undefined) return {};
    const schema: JsonObject = { type: types.length === 1 ? type : types };
    if (depth === 0) return schema;
    const items = this.#elements && { items: this.#elements.describe(depth - 1) };
    return { ...schema, ...this.#describeFields(depth), ...items };
  }

  #describeFields(depth: number): JsonObject {
    const fields = [...(this.#fields ?? [])];
    if (fields.length === 0) return {};
    const properties = fields.map(([name, { place }]) => [name, place.describe(depth - 1)] as const);
    const required = fields.filter(([, { count }]) => count === this.#objects).map(([name]) => name);
    return { properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) };
  }
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}
