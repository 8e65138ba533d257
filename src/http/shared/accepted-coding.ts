/** Of those that a browser says it takes, so many are read; it names some five. */
const CODINGS_MAX = 20;

/** One coding with its weight; no weight is 1 (RFC 9110 section 12.5.3). */
const CODING = /^\s*([^\s;]+)\s*(?:;\s*q=([0-9.]+)\s*)?$/i;

/**
 * The first of `offered`, codings in lower case, that the request takes; undefined where it takes none
 * of them.
 */
export function acceptedCoding<Coding extends string>(
  request: Request,
  offered: readonly Coding[],
): Coding | undefined {
  const taken = takenBy(request.headers.get("accept-encoding") ?? "");
  return offered.find((coding) => taken.get(coding) ?? taken.get("*") ?? false);
}

/** Names in lower case, `*` among them, and whether each is taken. */
function takenBy(header: string): Map<string, boolean> {
  const taken = new Map<string, boolean>();
  for (const part of header.split(",", CODINGS_MAX)) {
    const [, name, weight = "1"] = CODING.exec(part) ?? [];
    if (name !== undefined) taken.set(name.toLowerCase(), Number(weight) > 0);
  }
  return taken;
}
