/**
 * Headless Chromium for tests of pages, and what every page is held to: no violation of its
 * Content-Security-Policy, no error in its console, no request to another host, nothing that axe-core finds.
 */
import { expect } from "bun:test";
import { join } from "node:path";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from "playwright-core";
import { requireTool } from "./tools.ts";

/** For `describe.skipIf(!hasChromium)`. */
export const hasChromium = requireTool("chromium", "apt-get install --no-install-recommends chromium");

const axePath = join(import.meta.dir, "../../node_modules/axe-core/axe.min.js");
const AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

export interface PageOptions {
  theme?: "light" | "dark";
  width?: number;
  height?: number;
  locale?: string;
  /** A phone: touch, and a narrow page. */
  isPhone?: boolean;
  /** Of the whole page: 2 makes half as much fit. */
  zoom?: number;
  /** The reader's own few colours in place of the page's. */
  hasForcedColors?: boolean;
  /** Slow 3G: 1.6 Mbit/s, and 150 ms to an answer. */
  isSlow?: boolean;
}

const SLOW = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 };

/** What a page did that it must not do. */
export class Conduct {
  readonly violations: string[] = [];
  readonly errors: string[] = [];
  /** Of every request, in order: the address and the referrer. */
  readonly requests: { url: string; referrer: string | undefined }[] = [];

  constructor(page: Page) {
    page.on("console", (message) => {
      const text = message.text();
      if (/Content.Security.Policy|TrustedHTML|Trusted Type/i.test(text)) this.violations.push(text);
      else if (message.type() === "error") this.errors.push(text);
    });
    page.on("pageerror", (error) => void this.errors.push(error.message));
    page.on("request", (request) => {
      this.requests.push({ url: request.url(), referrer: request.headers()["referer"] });
    });
  }

  /** `allowed`: errors that the test provokes, such as the browser's own line about a 404. */
  expectGood(origin: string, allowed: RegExp = /^$/): void {
    expect(this.violations).toEqual([]);
    expect(this.errors.filter((text) => !allowed.test(text))).toEqual([]);
    const foreign = this.requests.filter(({ url }) => !url.startsWith(origin) && !url.startsWith("data:"));
    expect(foreign).toEqual([]);
  }
}

export interface OpenPage extends AsyncDisposable {
  page: Page;
  context: BrowserContext;
  conduct: Conduct;
}

export class TestBrowser implements AsyncDisposable {
  constructor(private readonly browser: Browser) {}

  newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    return this.browser.newContext(options);
  }

  async open(url: string, options: PageOptions = {}): Promise<OpenPage> {
    const { theme = "light", locale = "en-GB", isPhone = false } = options;
    const { width = isPhone ? 390 : 1280, height = isPhone ? 844 : 900, zoom = 1 } = options;
    const context = await this.browser.newContext({
      viewport: { width: Math.round(width / zoom), height: Math.round(height / zoom) },
      deviceScaleFactor: zoom,
      colorScheme: theme,
      forcedColors: options.hasForcedColors ? "active" : "none",
      locale,
      timezoneId: "Europe/Berlin",
      hasTouch: isPhone,
      reducedMotion: "reduce",
    });
    context.setDefaultTimeout(10_000);
    const page = await context.newPage();
    const conduct = new Conduct(page);
    if (options.isSlow) await slowDown(page);
    await page.goto(url);
    return { page, context, conduct, [Symbol.asyncDispose]: () => context.close() };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.browser.close();
  }
}

async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.emulateNetworkConditions", SLOW);
}

/** Root in a container has no sandbox of Chromium's; the pages are our own. */
export async function startBrowser(): Promise<TestBrowser> {
  const executablePath = Bun.which("chromium") ?? "chromium";
  return new TestBrowser(await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] }));
}

/** Nothing that axe-core finds, with the rules of WCAG 2.2 AA and its best practices. */
export async function expectAccessible(page: Page): Promise<void> {
  const axe = await Bun.file(axePath).text();
  await page.evaluate(axe);
  const tags = JSON.stringify(AXE_TAGS);
  const found = await page.evaluate<string[]>(
    `axe.run(document, { runOnly: ${tags}, resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html.slice(0, 200) + " | " + node.failureSummary).join("\\n    ")))`,
  );
  expect(found).toEqual([]);
}

/** Nothing of the page stands out of it sideways. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const [scroll, client] = await page.evaluate<[number, number]>(
    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
  );
  expect(scroll).toBeLessThanOrEqual(client);
}

/** The first place where this text can be seen. */
export function visible(page: Page, text: string | RegExp): Locator {
  return page.getByText(text).filter({ visible: true }).first();
}

/** Keeps the service's answers back; gives how to let them go. */
export async function holdBack(page: Page, asked: RegExp): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await page.route(asked, (route) => held.promise.then(() => route.continue()));
  return held.resolve;
}
