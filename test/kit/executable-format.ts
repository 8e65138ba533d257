/** What an executable says of the system and the processor that it is for. */
import { closeSync, openSync, readSync } from "node:fs";

/** Where the names of the processors stand in each format, with their numbers there. */
const ELF = { at: 18, machines: { 62: "x64", 183: "arm64" } as Record<number, string> };
const MACH_O = { at: 4, machines: { 0x01000007: "x64", 0x0100000c: "arm64" } as Record<number, string> };
const PE = { headerAt: 0x3c, machines: { 0x8664: "x64", 0xaa64: "arm64" } as Record<number, string> };
const MACH_O_MAGIC = 0xfeedfacf;
/** The name of the loader, which differs between C libraries, stands in its beginning. */
const BEGINNING = 4096;

/** Such as `ELF x64 ld-musl`; null for what is no executable. */
export function readFormat(path: string): string | null {
  const bytes = Buffer.alloc(BEGINNING);
  const file = openSync(path, "r");
  readSync(file, bytes, 0, BEGINNING, 0);
  closeSync(file);
  if (bytes.toString("latin1", 0, 4) === "\x7fELF") {
    const [loader] = bytes.toString("latin1").match(/\bld-(linux|musl)/) ?? [];
    return `ELF ${ELF.machines[bytes.readUInt16LE(ELF.at)]} ${loader}`;
  }
  if (bytes.readUInt32LE() === MACH_O_MAGIC)
    return `Mach-O ${MACH_O.machines[bytes.readUInt32LE(MACH_O.at)]}`;
  if (bytes.toString("latin1", 0, 2) !== "MZ") return null;
  return `PE ${PE.machines[bytes.readUInt16LE(bytes.readUInt32LE(PE.headerAt) + 4)]}`;
}
