/** Who writes to a replica: one small object beside what Litestream puts there. */
export interface Mark {
  /** Which database: made with it, and restored with it. */
  installation: string;
  /** Which data directory: a restored database is another writer. A copy of it has the same. */
  writer: string;
  /**
   * Where that directory is, as a copy of it is elsewhere (`placeOf`); null where that cannot be told. Older
   * versions wrote neither this nor the next.
   */
  place?: string | null;
  /** Which process: nobody else writes this. */
  run?: string;
  /** For people. */
  host: string;
  /** How many starts the database has seen. */
  start: number;
  /** Counts up while it is written to; what the replica holds for certain. */
  beat: number;
  /** The writer has stopped, and uploads nothing any more. */
  ended: boolean;
  /** When the mark was written: it changes for as long as the writer lives. */
  at: string;
}

export const MARK_FILE = "sealpost-writer.json";
/** A writer that lives has changed its mark twice within this time. */
export const MARK_SILENCE_MS = 15_000;

/** Null where the text is no mark. */
export function readMark(text: string): Mark | null {
  try {
    const mark = JSON.parse(text) as Partial<Mark> | null;
    const isWhole = typeof mark?.installation === "string" && typeof mark.writer === "string";
    return isWhole && Number.isInteger(mark.start) && Number.isInteger(mark.beat) ? (mark as Mark) : null;
  } catch {
    return null;
  }
}

/** What a database knows of itself, and its folder of it. */
export interface Own {
  /** Null where there is no database yet, or one from before marks. */
  installation: string | null;
  writer: string;
  place: string | null;
  start: number;
  beat: number;
}

export type Permission = { may: "write" } | { may: "wait" } | { may: "not"; because: string };

/** Why a database may not: what the replica has above it would be written over. */
export function writtenLater(mark: Mark): string {
  return `it was written to (${describeMark(mark)}) after the database of this directory was`;
}

/** For people. */
export function describeMark({ host, start, at }: Mark): string {
  return `${host}, start ${start}, last heard of at ${at}`;
}

/**
 * Whether a database may go on where a mark stands. `write`: nobody else can be at it. `wait`: whoever wrote
 * the mark may live still, which shows by the mark's changing. `not`: what is uploaded from here would
 * destroy what the replica holds.
 */
export function judge(mark: Mark | null, own: Own): Permission {
  if (mark === null) return { may: "write" };
  if (own.installation !== null && mark.installation !== own.installation)
    return { may: "not", because: `it holds another database (${describeMark(mark)})` };
  if (mark.start > own.start || mark.beat > own.beat) return { may: "not", because: writtenLater(mark) };
  if (isSameDirectory(mark, own) || mark.ended) return { may: "write" };
  return { may: "wait" };
}

/** No other process has it: a copy of the directory is at another place, and so is one after a new boot. */
function isSameDirectory({ writer, place }: Mark, own: Own): boolean {
  return writer === own.writer && (place === undefined || place === own.place);
}
