import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { percentiles } from "./clock.ts";

const SYNCS = 100;
const PAGE_BYTES = 4096;
const GIBIBYTE = 1024 ** 3;

/**
 * The facts without which the numbers mean nothing, in one line. Times the disk with a file in `directory`.
 */
export function describeMachine(directory: string): string {
  const cores = cpus();
  const sync = timeSync(join(directory, "sync"));
  return [
    `${cores.length} cores ${cores[0]?.model.trim() ?? "of unknown kind"}`,
    `${(totalmem() / GIBIBYTE).toFixed(0)} GiB`,
    `Linux ${release()}`,
    `Bun ${Bun.version}`,
    `fdatasync of an appended page p50 ${sync.p50Ms.toFixed(3)} ms, p99 ${sync.p99Ms.toFixed(3)} ms`,
  ].join(", ");
}

function timeSync(path: string) {
  const file = openSync(path, "w");
  const page = Buffer.alloc(PAGE_BYTES, 1);
  const timesUs = Array.from({ length: SYNCS }, () => {
    writeSync(file, page);
    const startedAt = performance.now();
    fdatasyncSync(file);
    return (performance.now() - startedAt) * 1000;
  });
  closeSync(file);
  rmSync(path);
  return percentiles(timesUs);
}
