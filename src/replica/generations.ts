/**
 * Each writer of a pair uploads to a path of its own, below the replica's URL: what one writes that has lost
 * its lease never reaches the next one.
 */

/** In a data directory: of which generation its database is. */
export const GENERATION_FILE = "generation";
export const GENERATIONS_FOLDER = "generations";
const DIGITS = 8;

/** The URL of a generation's path; of 0, which was written before there was a pair, the replica's own. */
export function generationUrl(base: string, generation: number): string {
  if (generation === 0) return base;
  const [path = "", query] = base.split("?", 2);
  const own = `${path.endsWith("/") ? path.slice(0, -1) : path}/${GENERATIONS_FOLDER}/${String(generation).padStart(DIGITS, "0")}`;
  return query === undefined ? own : `${own}?${query}`;
}

/** The replica's URL and the generation; null where the URL is not that of a generation. */
export function splitGeneration(url: string): { base: string; generation: number } | null {
  const [path = "", query] = url.split("?", 2);
  const found = new RegExp(`^(.*)/${GENERATIONS_FOLDER}/(\\d{${DIGITS}})$`).exec(path);
  if (!found) return null;
  const base = found[1] ?? "";
  return { base: query === undefined ? base : `${base}?${query}`, generation: Number(found[2]) };
}
