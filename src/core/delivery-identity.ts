/**
 * What a request is known by, as one text for each: an id that its sender signed is that id, and what has
 * another origin begins with a word for it, so that nobody can write one that is taken for another.
 */

const ORIGINS = {
  /** What proved a request that may make one event only. */
  proof: "proof\n",
  /** The hash of an id that is too long. */
  long: "long:",
  /** The hash of a body that names no id. */
  body: "body:",
  /** A header that nobody signed, where others of this sender sign theirs. */
  header: "header:",
  /** An id that begins as one of these does. */
  id: "id:",
} as const;

export type IdentityOrigin = keyof typeof ORIGINS;

const RESERVED = Object.values(ORIGINS);

export function identityFrom(origin: IdentityOrigin, text: string): string {
  return `${ORIGINS[origin]}${text}`;
}

/** Of an id that was signed. */
export function identityOf(id: string): string {
  return RESERVED.some((word) => id.startsWith(word)) ? identityFrom("id", id) : id;
}
