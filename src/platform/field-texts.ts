// The portal is checked without the types of Bun; this file runs in Bun, when the portal is bundled.
/// <reference types="bun-types" />
import { join } from "node:path";

const ROOMS = ["inbound", "destinations"];

/**
 * The words of fields in another language, collected from the files whose rows have them: each that exports
 * `german`. A macro: it runs when the portal is bundled, and what it answers stands in the bundle.
 */
export async function readFieldTexts(language: "german"): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const room of ROOMS) {
    const folder = join(import.meta.dir, "..", room);
    for (const path of [...new Bun.Glob("**/*.ts").scanSync(folder)].toSorted()) {
      const module = (await import(join(folder, path))) as Record<string, Record<string, string> | undefined>;
      Object.assign(texts, module[language]);
    }
  }
  return texts;
}
