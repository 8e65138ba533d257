/** What every suite of the portal stands on: one project and one browser for all of its tests. */
import { afterAll } from "bun:test";
import { hasChromium, startBrowser, type TestBrowser } from "../kit/browser.ts";
import { startWorld, type World } from "./world.ts";

/** What a test in a real browser may take. */
export const BROWSER_MS = 60_000;

export interface Stage {
  world: World;
  browser: TestBrowser;
}

/**
 * Begins with the suite and ends with it; without Chromium there is none, and the suite skips what needs it.
 */
export async function openStage(): Promise<Stage> {
  if (!hasChromium) return {} as Stage;
  const [world, browser] = await Promise.all([startWorld(), startBrowser()]);
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });
  return { world, browser };
}
