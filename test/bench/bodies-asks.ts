/** The requests of the bodies bench: from the OpenAPI document and from the table of providers. */
import { CASES } from "../inbound/cases.ts";
import { headersIn } from "../inbound/kit.ts";
import { DOOR_BODIES, LONG_HOPS, QUERIES, QUERY_VALUES, VALUES } from "./bodies-shapes.ts";

export interface Sent {
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
}

/** A request with its name; it is made when its turn comes, as a signature is valid for minutes. */
export interface Ask {
  name: string;
  readonly make: () => Sent | Promise<Sent>;
}

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

interface Operation {
  security: Record<string, unknown>[];
  parameters?: { name?: string; in?: string }[];
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> };
}

export interface Document {
  paths: Record<string, Record<string, Operation>>;
}

/** As /v1/providers tells it. */
export interface Provider {
  key: string;
  /** What a customer enters: without a secret among them, the provider brings it in a handshake. */
  fields: { name: string }[];
}

/** What there is to ask about: texts of examples and parameters of paths become these. */
export interface Stage {
  /** By the names of the document's security schemes. */
  tokens: Readonly<Record<string, string>>;
  /** By what comes before the parameter of a path. */
  ids: Readonly<Record<string, string>>;
}

/** Fields of fields are filled too, down to this depth. */
const DEPTH = 3;
const MARK = "the-value-of-the-bench";

/** What a body has beside the field that is filled, where the document's example does not get far. */
const BASES: Readonly<Record<string, object>> = {
  "POST /v1/events": { type: "bench.bodies", data: {} },
  "POST /v1/endpoints": { url: "http://127.0.0.1:9/", event_types: ["bench.other"], consumer_id: "anna" },
  "POST /v1/endpoints/preview": { event: { type: "bench.bodies", data: {} } },
  "POST /v1/event-types/{name}/infer-schema": {},
  "POST /v1/sources": { provider: "hmac", name: "bench" },
};

class Asker {
  constructor(
    private readonly document: Document,
    private readonly stage: Stage,
  ) {}

  asks(): Ask[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) => {
        const route = `${method.toUpperCase()} ${path}`;
        if (method === "get")
          return this.#ofCallers(operation, (caller) => this.#queries(route, operation, caller));
        if (method !== "post" && method !== "patch") return [];
        return this.#ofCallers(operation, (caller) => this.#bodies(route, operation, caller));
      }),
    );
  }

  /** Of each that may ask: a key, a link, the operator, a poller, or nobody in particular. */
  #ofCallers(operation: Operation, ask: (caller: string) => Ask[]): Ask[] {
    const schemes = operation.security.flatMap(Object.keys);
    const callers = schemes.filter((name) => name in this.stage.tokens);
    return (schemes.length === 0 ? ["nobody"] : callers).flatMap(ask);
  }

  #bodies(route: string, operation: Operation, caller: string): Ask[] {
    const content = operation.requestBody?.content["application/json"];
    if (content === undefined) return [];
    const base = BASES[route] ?? (route.startsWith("PATCH") ? {} : this.#own(content.example ?? {}));
    const places = ["", "unknown", ...this.#places(content.schema, DEPTH)];
    const method = route.split(" ", 1)[0] ?? "";
    const path = this.#path(route);
    return places.flatMap((place) =>
      Object.entries(VALUES).map(([shape, value]) => ({
        name: `${route} (${caller}): ${place || "the body"} = ${shape}`,
        make: () => {
          const headers = { ...this.#headers(caller), "content-type": "application/json" };
          return { method, path, headers, body: filledBody(base, place, value) };
        },
      })),
    );
  }

  #queries(route: string, operation: Operation, caller: string): Ask[] {
    const names = (operation.parameters ?? []).flatMap((one) => (one.in === "query" ? [one.name ?? ""] : []));
    const path = this.#path(route);
    const ask = (name: string, target: string): Ask => ({
      name: `${route} (${caller}): ${name}`,
      make: () => ({ method: "GET", path: target, headers: this.#headers(caller) }),
    });
    const values = Object.entries(QUERY_VALUES);
    return [
      ...["unknown", ...names].flatMap((name) =>
        values.map(([shape, value]) => ask(`${name} = ${shape}`, `${path}?${name}=${value}`)),
      ),
      ...Object.entries(QUERIES).map(([shape, query]) =>
        ask(`a query of ${shape}`, `${path}?${query(names[0] ?? "a")}`),
      ),
      ...(route.includes("{")
        ? values.map(([shape, value]) => ask(`the id = ${shape}`, route.slice(4).replace(/\{\w+\}/, value)))
        : []),
    ];
  }

  /** The fields that a body may have, as pointers without the first slash; `0` is the first of a list. */
  #places(schema: Schema, depth: number): Set<string> {
    const found = new Set<string>();
    const add = (name: string, inner: Schema) => {
      found.add(name);
      if (depth > 1) for (const place of this.#places(inner, depth - 1)) found.add(`${name}/${place}`);
    };
    const { properties = {}, items, anyOf = [], oneOf = [], allOf = [] } = this.#resolved(schema);
    for (const [name, inner] of Object.entries(properties)) add(name, inner);
    if (items !== undefined) add("0", items);
    for (const other of [...anyOf, ...oneOf, ...allOf])
      for (const place of this.#places(other, depth)) found.add(place);
    return found;
  }

  #resolved(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    let at: unknown = this.document;
    for (const name of schema.$ref.split("/").slice(1)) at = (at as Record<string, unknown>)[name];
    return this.#resolved(at as Schema);
  }

  /** An example about what there is. */
  #own(example: unknown): object {
    const { "/v1/endpoints/": endpoint = "" } = this.stage.ids;
    return JSON.parse(JSON.stringify(example).replaceAll(/ep_\w+/g, endpoint)) as object;
  }

  #path(route: string): string {
    const path = route.slice(route.indexOf(" ") + 1);
    const before = /^(.*\/)\{/.exec(path)?.[1];
    if (before === undefined) return path;
    const id = this.stage.ids[before];
    if (id === undefined) throw new Error(`What stands in ${path}?`);
    return path.replace(/\{\w+\}/, id);
  }

  #headers(caller: string): Record<string, string> {
    const token = this.stage.tokens[caller];
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }
}

/** The value stands in its place as it is written, which JSON.stringify would change. */
function filledBody(base: object, place: string, value: string): string {
  if (place === "") return value;
  return JSON.stringify(withMark(base, place.split("/"))).replace(`"${MARK}"`, () => value);
}

function withMark(base: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return MARK;
  if (name === "0") return [withMark(Array.isArray(base) ? base[0] : undefined, rest)];
  const fields = typeof base === "object" && !Array.isArray(base) ? (base as Record<string, unknown>) : {};
  return { ...fields, [name]: withMark(fields?.[name], rest) };
}

/** Every route of the document with every field that it takes, and every query. */
export function routeAsks(document: Document, stage: Stage): Ask[] {
  return new Asker(document, stage).asks();
}

/**
 * The door of a provider, with the headers of a genuine request. Those whose keys are fetched are left out:
 * the bench calls nobody.
 */
export async function doorAsks(
  { key: provider, fields: takes }: Provider,
  create: (fields: object) => Promise<{ ingest_path: string }>,
): Promise<Ask[]> {
  const proof = CASES[provider];
  if (proof === undefined || proof.keyDocuments !== undefined) return [];
  const [secret = ""] = proof.secrets;
  const { credentials, config } = proof;
  const isEntered = takes.some(({ name }) => name === "signing_secret");
  const fields = { ...(secret && isEntered && { signing_secret: secret }), credentials, config };
  const { ingest_path: path } = await create({ provider, name: provider, ...fields });
  const ask = (name: string, address: string, type: string, body: string, more = {}): Ask => ({
    name: `the door of ${provider}: ${name}`,
    make: async () => {
      const now = Math.floor(Date.now() / 1000) * 1000;
      const headers = Object.fromEntries(headersIn(await proof.sign(secret, now)));
      return { method: "POST", path: address, headers: { ...headers, "content-type": type, ...more }, body };
    },
  });
  return [
    ...DOOR_BODIES.map(([type, shape, body]) =>
      ask(`${shape} as ${type.split(";", 1)[0]}`, path, type, body),
    ),
    ...Object.entries(QUERIES).map(([shape, query]) =>
      ask(`a query of ${shape}`, `${path}?${query("a")}`, "application/json", "{}"),
    ),
    ask("very many hops", path, "application/json", "{}", { "sealpost-hops": LONG_HOPS }),
  ];
}
