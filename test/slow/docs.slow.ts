// time budget: 300 s
/**
 * The pages below /docs in a browser: on a phone's 360 px nothing stands out sideways, and a wide table
 * scrolls by itself.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DOC_PAGES } from "../../src/http/docs/pages.ts";
import {
  expectAccessible,
  expectNoSidewaysScroll,
  hasChromium,
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
