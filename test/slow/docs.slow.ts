// time budget: 300 s
/**
 * The pages below /docs in a browser: on a phone's 360 px nothing stands out sideways, and a wide table
 * scrolls by itself. The search finds what they say, by keyboard; without JavaScript only it is missing.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DOC_PAGES } from "../../src/http/docs/pages.ts";
import {
  expectAccessible,
  expectNoSidewaysScroll,
  hasChromium,
  type PageOptions,
  startBrowser,
  type TestBrowser,
} from "../kit/browser.ts";
import { type Service, startService } from "../kit/service.ts";

const PAGE_MS = 60_000;
const PATHS = [
  "/docs",
  ...[...DOC_PAGES.keys(), "destinations", "providers", "nothing"].map((name) => `/docs/${name}`),
  ...["stripe", "mailchimp", "service", "coinbase_cdp"].map((key) => `/docs/providers/${key}`),
];

let service: Service;
let browser: TestBrowser;

beforeAll(async () => {
  if (!hasChromium) return;
  [service, browser] = await Promise.all([startService(), startBrowser()]);
}, PAGE_MS);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await service?.close();
});

describe.skipIf(!hasChromium)("on a phone", () => {
  test.each(PATHS)(
    "%s",
    async (path) => {
      await using opened = await browser.open(`${service.url}${path}`, { width: 360, isPhone: true });
      if (path === "/docs") {
        await opened.page.waitForLoadState("networkidle");
        expect(await opened.page.evaluate("document.querySelectorAll('.opblock').length")).toBeGreaterThan(
          50,
        );
      }
      await expectNoSidewaysScroll(opened.page);
      if (path !== "/docs") await expectAccessible(opened.page);
      opened.conduct.expectGood(service.url, /404/);
    },
    PAGE_MS,
  );
});

describe.skipIf(!hasChromium)("the search", () => {
  const LOOKS: PageOptions[] = [{ theme: "dark" }, { theme: "light", width: 360, isPhone: true }];

  test.each(LOOKS)(
    "leads to a section without the mouse: %j",
    async (look) => {
      await using opened = await browser.open(`${service.url}/docs/filters`, look);
      const { page, conduct } = opened;
      const indexes = () => conduct.requests.filter(({ url }) => url.endsWith("/search.json")).length;
      expect(indexes()).toBe(0);
      await page.keyboard.press("/");
      await page.keyboard.type("dead letters repl");
      await page
        .getByRole("status")
        .getByText(/^Found: /)
        .waitFor();
      await page.keyboard.type(" nothingsaysthis");
      await page.getByText("Nothing found. Try fewer words.").waitFor();
      await page.keyboard.press("Escape");
      expect(await page.locator("#found").isVisible()).toBe(false);
      await page.getByRole("searchbox").fill("secret rotation");
      await page.locator("#found a").first().waitFor();
      await expectNoSidewaysScroll(page);
      await expectAccessible(page);
      await page.getByRole("searchbox").fill("the drill");
      await page.locator("#found a").nth(1).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("Enter");
      await page.waitForURL(`${service.url}/docs/operating#the-drill`);
      expect(indexes()).toBe(1);
      conduct.expectGood(service.url);
    },
    PAGE_MS,
  );

  test.each([
    ["stripe", "Stripe"],
    ["amazon sqs", "Destinations › Amazon SQS"],
    ["idempotency", "Behaviour › Idempotency"],
    ["rotating secrets", "Tour › A new secret, without a gap"],
    ["NATS_NOTHING", null],
  ])("finds %s", async (words, first) => {
    await using opened = await browser.open(`${service.url}/docs/tour`);
    await opened.page.getByRole("searchbox").fill(words);
    await opened.page.getByRole("status").getByText(/found/i).waitFor();
    const names = await opened.page.locator("#found a strong").allTextContents();
    expect(names[0] ?? null).toBe(first);
  });

  test("without JavaScript the page is whole, and shows no search", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${service.url}/docs/tour`);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Tour");
    expect(await page.getByRole("searchbox").count()).toBe(0);
    await page.getByRole("link", { name: "filters", exact: true }).click();
    await page.waitForURL(`${service.url}/docs/filters`);
    await context.close();
  });
});

test.skipIf(!hasChromium)("on a phone the list of pages opens over the page, and leads on", async () => {
  await using opened = await browser.open(`${service.url}/docs/tour`, { isPhone: true });
  const { page } = opened;
  const link = page.getByRole("link", { name: "behaviour", exact: true });
  expect(await link.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Pages" }).tap();
  await expectAccessible(page);
  await link.tap();
  await page.waitForURL(`${service.url}/docs/behaviour`);
});
