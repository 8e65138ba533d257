import { spyOn } from "bun:test";

/**
 * Does all of `works` at once, each of which parses one large text. The most texts that were parsed at a time
 * by works that had not ended.
 */
export async function parsedAtOnce(
  works: readonly (() => Promise<unknown>)[],
  bytes: number,
): Promise<number> {
  let [live, most] = [0, 0];
  const { parse } = JSON;
  using _ = spyOn(JSON, "parse").mockImplementation((text: string) => {
    if (text.length >= bytes) most = Math.max(most, ++live);
    return parse(text) as unknown;
  });
  await Promise.all(works.map((work) => work().finally(() => live--)));
  return most;
}
