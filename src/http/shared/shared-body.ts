/**
 * A body that stands in memory once, however many answers carry it and however many of those nobody reads: of
 * bytes, and of a text that is no ASCII, Bun makes a copy for each answer, and a file is opened for each.
 */
export function sharedBody(content: string | Uint8Array<ArrayBuffer>): Blob {
  return new Blob([content]);
}

/** What is made when it is first asked for, and then kept; after a failure it is made anew. */
export function madeOnce<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
