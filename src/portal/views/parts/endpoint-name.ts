import type { Endpoint } from "../../types.ts";

/** What an endpoint is called: its description, or where it leads. */
export function nameOf(endpoint: Pick<Endpoint, "description" | "url" | "config" | "kind">): string {
  return endpoint.description || addressOf(endpoint);
}

/** Where it leads: the address without its scheme, or what the kind calls its place. */
export function addressOf({ url, config, kind }: Pick<Endpoint, "url" | "config" | "kind">): string {
  if (url !== null) return url.replace(/^https?:\/\//, "").replace(/\/$/, "");
  const place = Object.values(config).find((value) => typeof value === "string" && value !== "***");
  return typeof place === "string" ? place : kind;
}

type Named = Pick<Endpoint, "id" | "description" | "url" | "config" | "kind">;

/**
 * To choose one of them: those that are called alike are told apart by where they lead, and else by the end
 * of their ids.
 */
export function optionsOf(endpoints: readonly Named[]): { value: string; text: string }[] {
  const isTaken = twice(endpoints.map(nameOf));
  const texts = endpoints.map((one) =>
    one.description && isTaken(nameOf(one)) ? `${one.description} · ${addressOf(one)}` : nameOf(one),
  );
  const isStillTaken = twice(texts);
  return endpoints.map(({ id }, at) => {
    const text = texts[at] ?? "";
    return { value: id, text: isStillTaken(text) ? `${text} · …${id.slice(-ID_END)}` : text };
  });
}

const ID_END = 6;

function twice(texts: readonly string[]): (text: string) => boolean {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return (text) => (counts.get(text) ?? 0) > 1;
}
