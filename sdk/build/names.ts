/**
 * The name of each operation. One rule: the resource is the tag, and the method is the operationId without
 * the resource's noun behind its verb. `publishEvent` of Events is `events.publish`, `rotateEndpointSecret`
 * of Endpoints is `endpoints.rotateSecret`, `countDeliveries` of Deliveries is `deliveries.count`.
 */
import type { Operation } from "./document.ts";

export interface Name {
  resource: string;
  method: string;
}

/** Where the rule gives a name that nobody would choose. */
export const EXCEPTIONS: Readonly<Record<string, Name>> = {
  // Of the whole project, though they stand beside those of endpoints and sources.
  getStats: { resource: "stats", method: "get" },
  getStatsByEndpoint: { resource: "stats", method: "getByEndpoint" },
  getStatsBySource: { resource: "stats", method: "getBySource" },
  // A resource of one method says the same twice.
  poll: { resource: "endpoints", method: "poll" },
  ingest: { resource: "ingest", method: "send" },
};

/** The name by the rule and its exceptions. */
export function nameOf(operation: Pick<Operation, "operationId" | "tags">): Name {
  return EXCEPTIONS[operation.operationId] ?? nameByRule(operation);
}

/** The name by the rule alone. */
export function nameByRule({ operationId, tags: [tag = ""] }: Pick<Operation, "operationId" | "tags">): Name {
  const plural = tag.split(" ").map(capitalized).join("");
  const verb = /^[a-z]+/.exec(operationId)?.[0] ?? "";
  const rest = operationId.slice(verb.length);
  const noun = [plural, singularOf(plural)].find((form) => rest.startsWith(form)) ?? "";
  return { resource: uncapitalized(plural), method: verb + rest.slice(noun.length) };
}

/** `Deliveries` → `Delivery`, `EventTypes` → `EventType`, `Usage` as it is. */
export function singularOf(plural: string): string {
  return plural.replace(/ies$/, "y").replace(/s$/, "");
}

/** `API` → `Api`. */
export function capitalized(word: string): string {
  const rest = word === word.toUpperCase() ? word.slice(1).toLowerCase() : word.slice(1);
  return word.slice(0, 1).toUpperCase() + rest;
}

/** `rotateSecret` → `rotate_secret`. */
export function snaked(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function uncapitalized(word: string): string {
  return word.slice(0, 1).toLowerCase() + word.slice(1);
}
