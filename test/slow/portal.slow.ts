// time budget: 600 s
/** The portal in a real browser against the real service. */
import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, hasChromium, holdBack, visible } from "../kit/browser.ts";
import { SCREENS } from "../portal/screens.ts";
import { BROWSER_MS, openStage } from "../portal/stage.ts";
import { CONSUMER, HOSTILE } from "../portal/world.ts";

const { world, browser } = await openStage();

const ALL = { consumer_id: CONSUMER, manage: true, create: true };
const hashOf = (page: Page) => new URL(page.url()).hash;

describe.skipIf(!hasChromium)("every screen", () => {
  test.each(SCREENS.map((screen) => [screen.name, screen] as const))(
    "%s: no fault that axe finds in either theme, none of its policy, whole at 320 px",
    async (_name, screen) => {
      for (const theme of ["light", "dark"] as const) {
        await using opened = await browser.open(await screen.address(world), { theme });
        await screen.ready(opened.page);
        await expectAccessible(opened.page);
        opened.conduct.expectGood(world.app.url);
      }
      await using narrow = await browser.open(await screen.address(world), { width: 320, isPhone: true });
      await screen.ready(narrow.page);
      await expectNoSidewaysScroll(narrow.page);
      await expectAccessible(narrow.page);
      narrow.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );
});

describe.skipIf(!hasChromium)("at every width between a phone and a desk", () => {
  test.each(SCREENS.map((screen) => [screen.name, screen] as const))(
    "%s is whole, in the language with the longer words",
    async (_name, screen) => {
      const address = (await screen.address(world)).replace("#", "?lang=de#");
      await using opened = await browser.open(address, { width: 1280 });
      await opened.page.locator("h1").filter({ visible: true }).first().waitFor();
      await opened.page
        .locator("main table, main form, main dl, main.closed p, main [data-row]")
        .first()
        .waitFor();
      for (const width of [640, 768, 900, 960, 1024, 1280]) {
        await opened.page.setViewportSize({ width, height: 900 });
        await expectNoSidewaysScroll(opened.page);
      }
    },
    BROWSER_MS,
  );
});

describe.skipIf(!hasChromium)("on a phone with a slow line", () => {
  interface Arrival {
    /** Of the page and its files, as they came. */
    bytes: number;
    scripts: string[];
    styles: string[];
    /** Milliseconds since the address was opened. */
    paintedAt: number;
  }

  const ARRIVAL = `(() => {
    const files = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/portal/assets/"));
    const all = [...files, ...performance.getEntriesByType("navigation")];
    const named = (end) => files.map(({ name }) => name).filter((name) => name.endsWith(end));
    return {
      bytes: all.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
      scripts: named(".js"),
      styles: named(".css"),
      paintedAt: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    };
  })()`;

  test(
    "the overview is one script and one style sheet, below 100 KB; when it is there is told",
    async () => {
      for (let round = 1; round <= 3; round++) {
        await using opened = await browser.open(await world.link(), { isPhone: true, isSlow: true });
        const { page } = opened;
        await page.locator(".card strong").first().waitFor();
        const numbersAt = await page.evaluate<number>("performance.now()");
        const { bytes, scripts, styles, paintedAt } = await page.evaluate<Arrival>(ARRIVAL);
        const [painted, numbers] = [paintedAt, numbersAt].map(Math.round);
        console.log(
          `round ${round}: ${(bytes / 1000).toFixed(1)} KB, first paint after ${painted} ms, numbers after ${numbers} ms`,
        );
        expect([scripts.length, styles.length]).toEqual([1, 1]);
        expect(bytes).toBeLessThan(100 * 1024);
        opened.conduct.expectGood(world.app.url);
      }
    },
    BROWSER_MS,
  );

  test("the shape of the page stands there before its script has come, and goes when it has something to show", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const held = Promise.withResolvers<void>();
    await page.route(/\.js$/, (route) => held.promise.then(() => route.continue()));
    await page.goto(await world.link(), { waitUntil: "commit" });
    await page.locator(".shell svg").waitFor();
    held.resolve();
    await visible(page, "Activity").waitFor();
    expect(await page.locator(".shell").isVisible()).toBe(false);
    await context.close();
  });

  test(
    "each later view is one script more",
    async () => {
      await using opened = await browser.open(`${await world.link(ALL)}/`);
      const { page } = opened;
      await visible(page, "Activity").waitFor();
      let seen = (await page.evaluate<Arrival>(ARRIVAL)).scripts.length;
      for (const tab of ["Endpoints", "Deliveries", "Event types"]) {
        await page.getByRole("link", { name: tab, exact: true }).click();
        await page.getByRole("heading", { name: tab, level: 1 }).waitFor();
        const { scripts, styles } = await page.evaluate<Arrival>(ARRIVAL);
        expect([tab, scripts.length, styles.length]).toEqual([tab, ++seen, 1]);
      }
    },
    BROWSER_MS,
  );
});

describe.skipIf(!hasChromium)("the token", () => {
  test("leaves the address at once, and stands in no request, referrer or log", async () => {
    const address = await world.link();
    const token = address.split("#")[1] ?? "";
    await using opened = await browser.open(address);
    await visible(opened.page, "Activity").waitFor();
    expect(opened.page.url()).not.toContain("spl_");
    for (const { url, referrer } of opened.conduct.requests.slice(1)) {
      expect([url.includes(token), referrer?.includes(token) ?? false]).toEqual([false, false]);
    }
    expect(world.app.log()).not.toContain(token);
    const kept = await opened.page.evaluate(
      "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])",
    );
    expect(String(kept)).not.toContain("spl_");
  });

  test("is gone after a reload, which says to open the link again", async () => {
    await using opened = await browser.open(await world.link());
    await visible(opened.page, "Activity").waitFor();
    await opened.page.reload();
    await visible(opened.page, "Open your link again").waitFor();
  });

  test("of a link that is revoked while the page is open: the page says so", async () => {
    const { id, url = "" } = await world.app.live.create("/v1/portal-links", { consumer_id: CONSUMER });
    await using opened = await browser.open(url.replace("http://localhost", world.app.url));
    await visible(opened.page, "Activity").waitFor();
    await world.app.live.delete(`/v1/portal-links/${id}`);
    await visible(opened.page, "This link has expired").waitFor();
    // The browser's own line about the 401.
    opened.conduct.expectGood(world.app.url, /status of 401/);
  });

  test("may be put in afresh by the page that embeds us", async () => {
    await using opened = await browser.open((await world.link()).replace(/#.*/, ""));
    await visible(opened.page, "Open your link again").waitFor();
    const [, token = ""] = (await world.link()).split("#");
    await opened.page.evaluate(`location.hash = ${JSON.stringify(token)}`);
    await visible(opened.page, "Activity").waitFor();
    expect(opened.page.url()).not.toContain("spl_");
  });

  test("of another project does not open this one's page", async () => {
    const { url = "" } = await world.app.test.create("/v1/portal-links", {});
    const { pathname } = new URL(await world.link());
    await using opened = await browser.open(`${world.app.url}${pathname}#${url.split("#")[1]}`);
    await visible(opened.page, "This link belongs to another page").waitFor();
  });

  test("that may not read, a key which only publishes, is told so", async () => {
    const { key = "" } = await world.app.live.create("/v1/api-keys", { name: "p", scopes: ["publish"] });
    await using opened = await browser.open(`${(await world.link()).replace(/#.*/, "")}#${key}`);
    await visible(opened.page, "This key does not open the page").waitFor();
    expect(opened.page.url()).not.toContain("sp_live_");
  });

  test("that is not whole is told so, and leaves nothing of itself in the address", async () => {
    await using opened = await browser.open((await world.link()).slice(0, -1));
    await visible(opened.page, "This link is not whole").waitFor();
    expect(opened.page.url()).not.toContain("spl_");
    // A letter that was changed is found by the service.
    const link = await world.link();
    const changed = link.slice(0, -1) + (link.endsWith("0") ? "1" : "0");
    await using other = await browser.open(changed);
    await visible(other.page, "was not copied rightly").waitFor();
  });

  test("or the lack of one offers nobody a form for a key: whoever has a link has none", async () => {
    const address = await world.link();
    for (const url of [address.replace(/#.*/, ""), address.slice(0, -1)]) {
      await using opened = await browser.open(url);
      await opened.page.getByRole("heading", { level: 1 }).waitFor();
      expect(await opened.page.getByText("API key").count()).toBe(0);
    }
  });

  test("is not needed by whoever pastes a key of the project into the console", async () => {
    await using opened = await browser.open(`${world.app.url}/portal`);
    await opened.page.getByLabel("API key", { exact: true }).fill("nonsense");
    await opened.page.getByRole("button", { name: "Open" }).click();
    await visible(opened.page, "A key begins with").waitFor();
    await opened.page.getByLabel("API key", { exact: true }).fill(world.app.keys.live);
    await opened.page.getByRole("button", { name: "Open" }).click();
    await visible(opened.page, "Activity").waitFor();
    await opened.page.getByRole("link", { name: "Endpoints" }).click();
    await visible(opened.page, "Of another consumer").waitFor();
  });
});

describe.skipIf(!hasChromium)("a page of the customer's", () => {
  /** A page on an origin of its own, with a frame in it, which keeps what the frame posts. */
  function startHost(html: () => string) {
    const page = () =>
      `<!doctype html><script>window.said = []; addEventListener("message", (e) => said.push(e.data))</script>${html()}`;
    return Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response(page(), { headers: { "content-type": "text/html" } }),
    });
  }

  test(
    "frames the portal where its origin is allowed, and not where another is",
    async () => {
      const { app } = world;
      let html = "";
      const host = startHost(() => html);
      const origin = `http://127.0.0.1:${host.port}`;
      const { embed_html: made = "" } = await app.live.create("/v1/portal-links", { ...ALL, embed: true });
      html = made.replace("http://localhost", app.url);
      try {
        await app.live.patch("/v1/project", { portal_origins: [origin] });
        await using allowed = await browser.open(origin);
        await allowed.page.frameLocator("iframe").getByText("Activity").first().waitFor();
        expect(allowed.conduct.violations).toEqual([]);
        await app.live.patch("/v1/project", { portal_origins: ["https://other.example"] });
        await using refused = await browser.open(origin);
        const refusal = () => refused.conduct.violations.some((text) => text.includes("frame-ancestors"));
        await app.until(async () => refusal() || (await refused.page.title(), null));
      } finally {
        await app.live.patch("/v1/project", { portal_origins: null });
        await host.stop(true);
      }
    },
    BROWSER_MS,
  );

  test("is told when the link has expired, so that it can put in another", async () => {
    const address = (await world.link()).replace(/#.*/, "");
    const host = startHost(() => `<iframe src="${address}"></iframe>`);
    await using opened = await browser.open(`http://127.0.0.1:${host.port}`);
    await opened.page.frameLocator("iframe").getByText("Open your link again").waitFor();
    expect(await opened.page.evaluate("said")).toEqual([{ type: "sealpost:expired" }]);
    await host.stop(true);
  });
});

describe.skipIf(!hasChromium)("whoever only reads", () => {
  test(
    "is shown no control that changes anything, on no screen",
    async () => {
      const { endpoints } = world;
      for (const path of [
        "/",
        "/endpoints",
        `/endpoints/${endpoints.fails}`,
        `/endpoints/${endpoints.gone}`,
      ]) {
        await using opened = await browser.open(`${await world.link()}${path}`);
        await opened.page.locator("main table").first().waitFor();
        const names = await opened.page.locator("main button, main a.button").allTextContents();
        const changing = names.filter((name) =>
          /\b(enable|pause|resume|retry|delete|add|replay|cancel|save)\b/i.test(name),
        );
        expect([path, changing]).toEqual([path, []]);
      }
    },
    BROWSER_MS,
  );

  test("sees the consumer's endpoints and no other's, and an id of another's is not there", async () => {
    await using opened = await browser.open(`${await world.link()}/endpoints`);
    await visible(opened.page, "Ledger").waitFor();
    expect(await opened.page.getByText("Of another consumer").count()).toBe(0);
    await opened.page.goto(`${opened.page.url().split("#")[0]}#/endpoints/${world.endpoints.foreign}`);
    await visible(opened.page, "This is not there").waitFor();
  });
});

describe.skipIf(!hasChromium)("what strangers sent", () => {
  test("stands as text, and runs nothing", async () => {
    await using opened = await browser.open(`${await world.link(ALL)}/endpoints/${world.endpoints.gone}`);
    let hasRun = false;
    opened.page.on("dialog", () => void (hasRun = true));
    await opened.page.getByRole("heading", { name: HOSTILE }).waitFor();
    expect(await opened.page.locator("main img, main script").count()).toBe(0);
    expect(hasRun).toBe(false);
    opened.conduct.expectGood(world.app.url);
  });
});

describe.skipIf(!hasChromium)("going about", () => {
  test("a view has its address: filters, back and forward keep it", async () => {
    await using opened = await browser.open(`${await world.link()}/endpoints?status=failing`);
    const { page } = opened;
    await visible(page, "Data warehouse").waitFor();
    expect(await page.getByText("Ledger").count()).toBe(0);
    await page.getByRole("link", { name: /Data warehouse/ }).click();
    await page.getByRole("heading", { name: "Data warehouse", level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Endpoints", level: 1 }).waitFor();
    expect(hashOf(page)).toBe("#/endpoints?status=failing");
  });

  test("the keyboard suffices: / searches, j and k walk, Enter opens, Esc closes, ? tells", async () => {
    await using opened = await browser.open(`${await world.link()}/endpoints`);
    const { page } = opened;
    await visible(page, "Ledger").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("ledger");
    // The service searches, once typing rests; until it has found something the list stays.
    await visible(page, "Data warehouse").waitFor({ state: "detached" });
    await visible(page, "Ledger").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Ledger", level: 1 }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Endpoints", level: 1 }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Next row").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("while a list is searched anew its rows stay, marked, and the keys walk them, until the answer is here", async () => {
    await using opened = await browser.open(`${await world.link()}/endpoints`);
    const { page } = opened;
    await visible(page, "Ledger").waitFor();
    const list = page.locator(".listing");
    const before = await list.boundingBox();
    const answer = await holdBack(page, /\/v1\/endpoints\?.*q=ledger/);
    await page.keyboard.press("/");
    await page.keyboard.type("ledger");
    await page.locator(".listing[aria-busy=true]").waitFor();
    expect(await page.locator(".skeleton").count()).toBe(0);
    expect(await list.boundingBox()).toEqual(before);
    await page.keyboard.press("Escape");
    for (let step = 0; step < 2; step++) await page.keyboard.press("j");
    const second = await page.locator("a[data-row]").nth(1).getAttribute("href");
    expect(await page.locator("a[data-row]:focus").getAttribute("href")).toBe(String(second));
    answer();
    await visible(page, "Data warehouse").waitFor({ state: "detached" });
    await page.locator(".listing[aria-busy=false]").getByText("Ledger").waitFor();
    // What cannot be answered takes the rows away: they would stand for something else.
    await page.route(/q=broken/, (route) => route.fulfill({ status: 500, json: { detail: "" } }));
    await page.locator("[data-search]").fill("broken");
    await page.getByRole("alert").waitFor();
    expect(await page.locator("a[data-row]").count()).toBe(0);
  });

  test("a bar of the chart narrows the list, by key too, and the numbers are there as a table", async () => {
    await using opened = await browser.open(`${await world.link()}/`);
    const { page } = opened;
    await visible(page, "Deliveries of the last 24 hours").waitFor();
    await page.locator(".bar[tabindex='0']").focus();
    // Two hours back nothing was there yet, also where an hour ended meanwhile.
    for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await visible(page, /^Deliveries from /).waitFor();
    await visible(page, "No deliveries in this time").waitFor();
    expect(hashOf(page)).toMatch(/^#\/\?at=\d+&to=\d+$/);
    await page.getByRole("button", { name: "As a table" }).click();
    await page.getByRole("columnheader", { name: "Failed attempts" }).waitFor();
  });

  test("without a connection a bar says so, and the page goes on by itself", async () => {
    await using opened = await browser.open(`${await world.link()}/`);
    const { page, context } = opened;
    await visible(page, "Activity").waitFor();
    await context.setOffline(true);
    await visible(page, "No connection").waitFor();
    await context.setOffline(false);
    await page.getByText("No connection").waitFor({ state: "detached" });
  });
});

describe.skipIf(!hasChromium)("languages", () => {
  test("the browser's is spoken, and another can be chosen", async () => {
    await using opened = await browser.open(await world.link(), { locale: "de-DE" });
    const { page } = opened;
    await page.getByRole("heading", { name: "Überblick" }).waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe("de");
    await page.getByLabel("Sprache").selectOption("en");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  test("from right to left nothing stands out of the page", async () => {
    const address = (await world.link()).replace("#", "?dir=rtl#");
    for (const width of [1280, 320]) {
      await using opened = await browser.open(`${address}/endpoints/${world.endpoints.works}`, { width });
      await visible(opened.page, "Last 24 hours").waitFor();
      await expectNoSidewaysScroll(opened.page);
    }
  });
});

describe.skipIf(!hasChromium)("an endpoint's state", () => {
  test("is changed by a button, and the page says what came of it", async () => {
    await using opened = await browser.open(`${await world.link(ALL)}/endpoints/${world.endpoints.works}`);
    const { page } = opened;
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("status").getByText("The endpoint is paused").waitFor();
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByRole("status").getByText("The endpoint goes on").waitFor();
    const { json } = await world.app.live.get(`/v1/endpoints/${world.endpoints.works}`);
    expect(json["status"]).toBe("active");
  });
});
