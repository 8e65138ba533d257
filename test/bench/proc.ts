import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** The unit of every CPU time in /proc: 10 ms on Linux, whatever the kernel's own tick. */
const TICKS_PER_SECOND = 100;

export interface ProcessUsage {
  /** User and system time since its start. */
  cpuSeconds: number;
  rssBytes: number;
  peakRssBytes: number;
  /** Open ones, sockets included. */
  files: number;
}

/** Reads what a process has used so far, from /proc (Linux only; see proc(5)). */
export function readProcess(pid: number): ProcessUsage {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    rssBytes: readKilobytes(status, "VmRSS"),
    peakRssBytes: readKilobytes(status, "VmHWM"),
    files: readdirSync(`/proc/${pid}/fd`).length,
  };
}

/** The processes that a process has started, of those that run. */
export function readChildren(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((other) => readParent(other) === pid);
}

/** 0 where the process has ended meanwhile. */
function readParent(pid: number): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** What all threads of a process have run so far, in milliseconds: finer than the ticks of `readProcess`. */
export function readThreadsMs(pid: number): number {
  const ofThread = (id: string) => {
    const [nanoseconds = 0] = readFileSync(`/proc/${pid}/task/${id}/schedstat`, "latin1")
      .split(" ")
      .map(Number);
    return nanoseconds / 1e6;
  };
  return readdirSync(`/proc/${pid}/task`).reduce((sum, id) => sum + ofThread(id), 0);
}

/** The peak of a process's memory begins anew: where it is now. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** CPU seconds that all processes of the machine have used, and that its host has taken away (steal). */
export function readMachineCpuSeconds(): number {
  const total = readFileSync("/proc/stat", "latin1").split("\n", 1)[0] ?? "";
  const [user, nice, system, , , interrupts, softInterrupts, steal] = total.split(/\s+/).slice(1).map(Number);
  const ticks = [user, nice, system, interrupts, softInterrupts, steal];
  return ticks.reduce<number>((sum, count) => sum + (count ?? 0), 0) / TICKS_PER_SECOND;
}

function readKilobytes(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1024;
}
