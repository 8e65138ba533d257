import type { JsonObject } from "../json/value.ts";
import type { SchemaPart } from "./part.ts";
import type { Resource, SchemaNode } from "./run.ts";

/** What relative references of a document without `$id` are relative to. */
const BASE_URI = "schema:///";

const ANCHOR = /^[A-Za-z_][-A-Za-z0-9._]*$/;

/**
 * Where URIs lead inside one document: its resources (`$id`) and the anchors in them. Nothing outside is
 * ever followed.
 */
export class ReferenceTable {
  readonly #resources = new Map<string, Resource>();
  readonly document: Resource;

  constructor(source: JsonObject) {
    this.document = this.#addResource(BASE_URI, source, "");
  }

  #addResource(uri: string, source: JsonObject, pointer: string): Resource {
    const resource = { uri, source, pointer, anchors: new Map(), dynamicAnchors: new Map() };
    this.#resources.set(uri, resource);
    return resource;
  }

  /** Characters of the URIs of all resources: each holds what it is relative to. */
  get length(): number {
    return [...this.#resources.keys()].reduce((sum, uri) => sum + uri.length, 0);
  }

  /** Reads a schema's own names, `$id` and anchors, and moves its node into the resource that it begins. */
  identify(part: SchemaPart): void {
    const id = part.text("$id");
    if (id !== null) this.#readId(part, id);
    if (part.host.dialect === "draft-07") return;
    this.#readAnchor(part, "$anchor");
    const dynamic = this.#readAnchor(part, "$dynamicAnchor");
    if (dynamic !== null) part.node.resource.dynamicAnchors.set(dynamic, part.node);
  }

  #readId(part: SchemaPart, id: string): void {
    const [location = "", fragment = ""] = id.split("#", 2);
    if (fragment !== "" && part.host.dialect === "2020-12") {
      part.refuse(["$id"], '"$id" has no fragment; "$anchor" names a place in a schema.');
    }
    if (location !== "") this.#beginResource(part, location);
    if (fragment !== "") this.#addAnchor(part, "$id", fragment);
  }

  #beginResource(part: SchemaPart, location: string): void {
    const uri = URL.parse(location, part.node.resource.uri)?.href;
    if (uri === undefined) part.refuse(["$id"], '"$id" takes a URI.');
    else if (this.#resources.has(uri)) part.refuse(["$id"], "Two schemas have this URI.");
    else part.node.resource = this.#addResource(uri, part.source, part.node.pointer);
  }

  #readAnchor(part: SchemaPart, keyword: string): string | null {
    const name = part.text(keyword);
    if (name === null) return null;
    if (!ANCHOR.test(name))
      return part.refuse([keyword], `"${keyword}" takes a name of letters, digits, "-", "_" and ".".`);
    this.#addAnchor(part, keyword, name);
    return name;
  }

  #addAnchor(part: SchemaPart, keyword: string, name: string): void {
    const { anchors } = part.node.resource;
    if (anchors.has(name) && anchors.get(name) !== part.node)
      part.refuse([keyword], "Two schemas have this name.");
    anchors.set(name, part.node);
  }

  /**
   * The resource and the fragment that a reference means; null where it leads out of the document or is
   * no URI.
   */
  resolve(reference: string, from: Resource): { resource: Resource; fragment: string } | null {
    const hash = reference.indexOf("#");
    const location = hash < 0 ? reference : reference.slice(0, hash);
    const fragment = hash < 0 ? "" : decodeFragment(reference.slice(hash + 1));
    const uri = location === "" ? from.uri : URL.parse(location, from.uri)?.href;
    const resource = location === "" ? from : this.#resources.get(uri ?? "");
    return resource === undefined || fragment === null ? null : { resource, fragment };
  }
}

function decodeFragment(fragment: string): string | null {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return null;
  }
}

/** The first node that can come back to itself without going into the data; judging it would never end. */
export function findEndless(nodes: Iterable<SchemaNode>): SchemaNode | null {
  const finished = new Set<SchemaNode>();
  const open = new Set<SchemaNode>();
  const visit = (node: SchemaNode): SchemaNode | null => {
    if (finished.has(node)) return null;
    if (open.has(node)) return node;
    open.add(node);
    for (const next of node.inPlace) {
      const endless = visit(next);
      if (endless !== null) return endless;
    }
    open.delete(node);
    finished.add(node);
    return null;
  };
  for (const node of nodes) {
    const endless = visit(node);
    if (endless !== null) return endless;
  }
  return null;
}
