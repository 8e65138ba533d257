/**
 * Pictures of every screen, for people to look at: `bun test/portal/screenshots.ts [name…]` writes them below
 * `.test/screenshots`, light, dark and as wide as a phone; with `--scenic` over a project with a past.
 * `--readme` takes the README's pictures anew, in src/docs.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type PageOptions, startBrowser } from "../kit/browser.ts";
import { SCREENS } from "./screens.ts";
import { startWorld } from "./world.ts";

const folder = join(import.meta.dir, "../../.test/screenshots");
const LOOKS: Readonly<Record<string, PageOptions>> = {
  light: { theme: "light" },
  dark: { theme: "dark" },
  phone: { theme: "light", isPhone: true },
};

/** The README's: screen, look, and where the picture ends. */
const README: readonly [file: string, screen: string, PageOptions][] = [
  ["portal-overview.png", "overview", { theme: "light", width: 1180, height: 1040 }],
  ["portal-delivery.png", "delivery-retrying", { theme: "light", width: 1180, height: 940 }],
  ["portal-shape.png", "endpoint-shape", { theme: "light", width: 1180, height: 1400 }],
  ["portal-source.png", "source-refusing", { theme: "light", width: 1180, height: 1180 }],
  ["portal-endpoint.png", "endpoint", { theme: "dark", isPhone: true }],
];

const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const isReadme = process.argv.includes("--readme");
mkdirSync(folder, { recursive: true });
await using world = await startWorld({ isScenic: isReadme || process.argv.includes("--scenic") });
await using browser = await startBrowser();
if (isReadme) {
  for (const [file, name, options] of README) {
    const screen = SCREENS.find((one) => one.name === name);
    if (!screen) throw new Error(`no screen ${name}`);
    await using opened = await browser.open(await screen.address(world), options);
    await screen.ready(opened.page);
    await opened.page.screenshot({ path: join(import.meta.dir, "../../src/docs", file) });
  }
}
const isWanted = ({ name }: { name: string }) => (wanted.length === 0 ? !isReadme : wanted.includes(name));
for (const screen of SCREENS.filter(isWanted)) {
  for (const [look, options] of Object.entries(LOOKS)) {
    await using opened = await browser.open(await screen.address(world), options);
    await screen.ready(opened.page);
    const path = join(folder, `${screen.name}-${look}.png`);
    await opened.page.screenshot({ path, fullPage: true });
    console.log(path);
  }
}
