/**
 * Azure's connection strings: `Name=value;Name=value`. Names are read in any case; a value may hold `=`.
 */

export type ConnectionParts = ReadonlyMap<string, string>;

/**
 * The parts by their names in lower case; a part without a name is passed over. Throws a sentence where a
 * name stands twice.
 */
export function readConnectionString(text: string): ConnectionParts {
  const parts = new Map<string, string>();
  for (const part of text.split(";")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    const name = part.slice(0, at).trim().toLowerCase();
    // Of two, nobody can tell which one is meant. The name is not repeated: it may be a piece of a secret.
    if (parts.has(name)) throw new Error("The connection string has one part twice.");
    parts.set(name, part.slice(at + 1).trim());
  }
  return parts;
}

/** The text of a part that must be there. Throws the sentence that says which one is missing. */
export function requirePart(parts: ConnectionParts, name: string): string {
  const value = parts.get(name.toLowerCase());
  if (value === undefined || value === "") throw new Error(`The connection string has no ${name}.`);
  return value;
}

/** Throws the sentence where a part cannot travel in a header as it is; it may have spaces within. */
export function requireHeaderText(name: string, value: string): void {
  if (/^[ -~]+$/.test(value)) return;
  throw new Error(`The connection string's ${name} is empty, or has characters that no header takes.`);
}

/** Reads a field as a kind does, for its `check`: what that throws is what is wrong. */
export function faultOf(read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : "This cannot be read.";
  }
}
