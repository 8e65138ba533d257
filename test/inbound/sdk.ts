import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** A provider's package that brings no types: the caller says what it uses of it. */
export function load(name: string): unknown {
  return require(name);
}

/** True where a verifier returns (anything but false), false where it throws. */
export async function passes(verify: () => unknown): Promise<boolean> {
  try {
    return (await verify()) !== false;
  } catch {
    return false;
  }
}
