import { statfsSync, statSync } from "node:fs";
import { messageOf } from "../core/errors.ts";

/** What an error of SQLite or of the file system says about the disk. */

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith("SQLITE_BUSY");
}

/** No room for pages, or for the WAL's index (the -shm file), which grows with the WAL. */
export function isFull(error: unknown): boolean {
  return ["SQLITE_FULL", "SQLITE_IOERR_SHMSIZE", "ENOSPC", "EDQUOT"].includes(codeOf(error));
}

export function isDiskError(error: unknown): boolean {
  const code = codeOf(error);
  return isFull(error) || isDamage(error) || code.startsWith("SQLITE_IOERR");
}

export function isDamage(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));
}

/** Less is no room for a page. */
const ROOM_BYTES_MIN = 64 * 1024;
const DENIED = /^(SQLITE_(CANTOPEN|READONLY|PERM)|EACCES|EPERM|EROFS)/;

/**
 * The cause in the operator's words. SQLite's own may name another: on a full disk it says "disk I/O
 * error" too.
 */
export function causeOf(error: unknown, dir: string): string {
  const text = messageOf(error);
  if (isFull(error) || (isDiskError(error) && roomIn(dir) < ROOM_BYTES_MIN))
    return `the disk is full (${text})`;
  return DENIED.test(codeOf(error)) ? `this process may not write there (${text})` : text;
}

/** Bytes of a file; 0 where there is none. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Bytes that this process may still write below a folder. */
export function roomIn(dir: string): number {
  const { bavail, bsize, blocks } = statfsSync(dir);
  // What is no disk, such as /proc, says nothing of its size.
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}
