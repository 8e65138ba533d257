/**
 * Small disks for tests that fill them or cut their power: an ext4 file system in a file, mounted by the
 * kernel's loop device. Needs root and a kernel that allows mounts.
 */
import { afterAll } from "bun:test";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireTool } from "./tools.ts";

/**
 * FS_IOC_SHUTDOWN with NOLOGFLUSH (linux/fs.h): from now on nothing reaches the disk, not even the journal
 * in memory.
 */
const SHUT_DOWN =
  'open my $file, "<", $ARGV[0] or die $!; my $flag = pack "L", 2; ioctl $file, 0x8004587d, $flag or die $!';

/** Nothing stays mounted, also where a test ran out of its time and never came to its end. */
const mounted = new Set<string>();
afterAll(() => mounted.forEach((path) => void Bun.spawnSync(["umount", "--lazy", path])));

export class LoopDisk implements AsyncDisposable {
  /** Where it is mounted. */
  readonly path: string;
  readonly #home = mkdtempSync(join(tmpdir(), "sealpost-disk-"));
  readonly #image = join(this.#home, "disk.img");

  constructor(megabytes: number) {
    this.path = join(this.#home, "mnt");
    mkdirSync(this.path);
    writeFileSync(this.#image, "");
    truncateSync(this.#image, megabytes * 1024 * 1024);
  }

  async format(): Promise<void> {
    await run("mkfs.ext4", "-q", "-F", this.#image);
    await this.mount();
    writeFileSync(join(this.path, "handle"), "");
  }

  async mount(): Promise<void> {
    await run("mount", "-o", "loop", this.#image, this.path);
    mounted.add(this.path);
  }

  /** Takes all the room that is left, to the last kilobytes. */
  fill(): void {
    const file = openSync(join(this.path, "ballast"), "a");
    for (const bytes of [1024 * 1024, 64 * 1024, 4096]) {
      while (append(file, bytes));
    }
    closeSync(file);
  }

  /** Gives back so many kilobytes of what `fill` took. */
  leave(kilobytes: number): void {
    const ballast = join(this.path, "ballast");
    truncateSync(ballast, statSync(ballast).size - kilobytes * 1024);
  }

  /** Gives back what `fill` took. */
  free(): void {
    rmSync(join(this.path, "ballast"));
  }

  /** What was not on the disk by now is lost. Every write and sync fails until it is mounted anew. */
  async cutPower(): Promise<void> {
    await run("perl", "-e", SHUT_DOWN, join(this.path, "handle"));
  }

  /** As at the start of the machine: the file system's journal is replayed. Nobody may have a file open. */
  async remount(): Promise<void> {
    await run("umount", this.path);
    mounted.delete(this.path);
    await this.mount();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (mounted.delete(this.path)) await run("umount", "--lazy", this.path);
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** Makes, formats and mounts a disk: `await using disk = await makeDisk(64)`. */
export async function makeDisk(megabytes: number): Promise<LoopDisk> {
  const disk = new LoopDisk(megabytes);
  try {
    await disk.format();
    return disk;
  } catch (error) {
    await disk[Symbol.asyncDispose]();
    throw error;
  }
}

/** Whether disks can be made here. What the kernel refuses is a named skip, also in CI. */
export async function canMakeDisks(): Promise<boolean> {
  if (!requireTool("mkfs.ext4", "apt-get install e2fsprogs")) return false;
  if (!requireTool("mount", "apt-get install mount")) return false;
  try {
    await using disk = await makeDisk(8);
    await disk.remount();
    return true;
  } catch (error) {
    console.error(`skipping tests: no disk can be mounted here: ${String(error)}`);
    return false;
  }
}

/** False where the disk is full. */
function append(file: number, bytes: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(bytes)) === bytes;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOSPC") return false;
    throw error;
  }
}

async function run(...command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${said.trim()}`);
}
