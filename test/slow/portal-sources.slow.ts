// time budget: 300 s
/**
 * The portal as a console: opened with a key, and its screens of sources, in a real browser against the
 * real service.
 */
import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { type CreatedSource, knock, sendToken } from "../http/sources/kit.ts";
import { expectAccessible, expectNoSidewaysScroll, hasChromium, visible } from "../kit/browser.ts";
import { BROWSER_MS, openStage } from "../portal/stage.ts";
import { CONSUMER, HOSTILE } from "../portal/world.ts";

const { world, browser } = await openStage();

const open = (path: string, options = {}, key?: string) => browser.open(world.console(path, key), options);
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name });
const sourceOf = async (id: string) => (await world.app.live.get(`/v1/sources/${id}`)).json;

function make(provider: string, fields: Record<string, unknown> = {}): Promise<CreatedSource> {
  return world.app.live.create<CreatedSource>("/v1/sources", { provider, name: "Made for it", ...fields });
}

describe.skipIf(!hasChromium)("a key", () => {
  test(
    "pasted into the page without a link opens its project, and stays in memory alone",
    async () => {
      const { live } = world.app.keys;
      await using opened = await browser.open(`${world.app.url}/portal`);
      const { page } = opened;
      const field = page.getByLabel("API key", { exact: true });
      expect(await field.getAttribute("type")).toBe("password");
      await visible(page, "it is stored nowhere and stands in no address").waitFor();
      await field.fill(live);
      await field.press("Enter");
      await page.getByRole("link", { name: "Sources" }).click();
      await visible(page, "Stripe, live").waitFor();
      expect(page.url()).toMatch(/\/portal#\/sources$/);
      const kept = "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}, history.state])";
      expect(String(await page.evaluate(kept))).not.toContain("sp_live_");
      for (const { url, referrer } of opened.conduct.requests)
        expect([url.includes(live), referrer?.includes(live) ?? false]).toEqual([false, false]);
      expect(world.app.log()).not.toContain(live);
      await button(page, "Forget the key").click();
      await heading(page, "The key is forgotten").waitFor();
      expect(await page.getByLabel("API key", { exact: true }).inputValue()).toBe("");
      await page.reload();
      await heading(page, "Open with an API key").waitFor();
      opened.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );

  test("that is none is told so, and one of another project opens that one", async () => {
    await using opened = await browser.open(`${world.app.url}/portal`);
    const { page } = opened;
    const { key = "", id } = await world.app.live.create("/v1/api-keys", { name: "gone" });
    await world.app.live.delete(`/v1/api-keys/${id}`);
    await page.getByLabel("API key", { exact: true }).fill(key);
    await button(page, "Open").click();
    await heading(page, "This key opens nothing").waitFor();
    await page.getByLabel("API key", { exact: true }).fill(world.app.keys.test);
    await button(page, "Open").click();
    await visible(page, "Test mode").waitFor();
    opened.conduct.expectGood(world.app.url, /status of 401/);
  });

  test("is not asked for within another page", async () => {
    const address = (await world.link()).replace(/#.*/, "");
    const html = `<!doctype html><title>x</title><iframe src="${address}"></iframe>`;
    const host = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response(html, { headers: { "content-type": "text/html" } }),
    });
    await using opened = await browser.open(`http://127.0.0.1:${host.port}`);
    const frame = opened.page.frameLocator("iframe");
    await frame.getByText("Open your link again").waitFor();
    expect(await frame.getByText("Open with an API key").count()).toBe(0);
    await host.stop(true);
  });

  test("that only reads shows sources, and no control that changes one", async () => {
    const { key = "" } = await world.app.live.create("/v1/api-keys", { name: "r", scopes: ["read"] });
    const { works, awaits } = world.sources;
    for (const path of ["", `/${works}`, `/${awaits}`, `/${awaits}/setup`, `/${works}/settings`]) {
      await using opened = await open(`/sources${path}`, {}, key);
      await opened.page.locator("main table").first().waitFor();
      await opened.page.locator("h1").filter({ visible: true }).first().waitFor();
      const names = await opened.page.locator("main button, main a").allTextContents();
      const changing = names.filter((name) => /\b(add|pause|resume|save|rotate|delete|secret)\b/i.test(name));
      expect([path, changing]).toEqual([path, []]);
      expect(await opened.page.locator("main form").count()).toBe(0);
    }
    await using refused = await open("/sources/new", {}, key);
    await visible(refused.page, "This key only reads").waitFor();
  });

  test("is what it takes: a link has no tab of sources, and no view at their address", async () => {
    await using opened = await browser.open(`${await world.link({})}/sources`);
    await opened.page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
    expect(await opened.page.getByRole("link", { name: "Sources" }).count()).toBe(0);
  });
});

describe.skipIf(!hasChromium)("the list", () => {
  test("says of each source how it stands; it is searched, narrowed, and walked by keys", async () => {
    await using opened = await open("/sources");
    const { page } = opened;
    const rows = page.locator("tbody tr");
    await rows.filter({ hasText: "Stripe, live" }).getByText("Refusing").waitFor();
    await rows.filter({ hasText: "Stripe, live" }).getByText("Wrong signature").waitFor();
    await rows.filter({ hasText: "Slack, support channel" }).getByText("Needs its secret").waitFor();
    await rows.filter({ hasText: "GitHub, all" }).getByText("Active").waitFor();
    await button(page, "Needs attention").click();
    await visible(page, "GitHub, all").waitFor({ state: "detached" });
    expect(await rows.count()).toBe(2);
    await page.keyboard.press("/");
    await page.keyboard.type("stripe");
    await visible(page, "Slack, support channel").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Stripe, live", level: 1 }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Sources", level: 1 }).waitFor();
  });

  test("that is empty says what will stand there, and how it begins", async () => {
    await using opened = await open("/sources", {}, world.app.keys.test);
    await visible(opened.page, "No sources yet").waitFor();
    await expectAccessible(opened.page);
    await opened.page.getByRole("main").getByRole("link", { name: "Add source" }).first().click();
    await heading(opened.page, "Whose webhooks should come in?").waitFor();
  });
});

describe.skipIf(!hasChromium)("a source", () => {
  test(
    "shows what was accepted and refused over time, by reason, as a chart and as a table",
    async () => {
      await using opened = await open(`/sources/${world.sources.refuses}`);
      const { page } = opened;
      await visible(page, "The last request was refused").waitFor();
      await visible(page, "Copy the secret from Stripe once more").waitFor();
      // Of this hour, or of the one before where that has just ended.
      const bar = page.locator(".bar:not([aria-label$=' 0 refused'])");
      expect(await bar.getAttribute("aria-label")).toEndWith("0 accepted, 0 repeated, 6 refused");
      await page.getByRole("button", { name: "Wrong signature" }).click();
      expect(await bar.getAttribute("aria-label")).toEndWith("0 accepted, 0 repeated, 4 refused");
      await visible(page, "Only: Wrong signature").waitFor();
      await page.getByRole("button", { name: "Wrong signature" }).click();
      await button(page, "As a table").click();
      await page.getByRole("columnheader", { name: "Too old" }).waitFor();
      const cells = await page.locator(".chart tbody tr").first().locator("td").allTextContents();
      expect(cells).toEqual(["0", "0", "6", "4", "1", "1"]);
      await button(page, "As a table").click();
      await bar.focus();
      for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("Enter");
      await heading(page, "Why requests were refused").waitFor({ state: "detached" });
      await button(page, "30 days").click();
      await heading(page, "Why requests were refused").waitFor();
      await page.getByRole("link", { name: "Go to the secret" }).first().click();
      await heading(page, "Rotate secret").waitFor();
      opened.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );

  test("shows its events: what each held, to the letter, and where it went", async () => {
    const source = await make("service");
    await sendToken(world.app, source, { type: "order.paid", total: 1 });
    const body = '{"type":"big","number":12345678901234567890}';
    await knock(world.app, source.ingest_path, body, { "x-service-token": source.secret });
    await using opened = await open(`/sources/${source.id}`);
    const { page } = opened;
    await visible(page, "What comes is accepted").waitFor();
    await button(page, "service.big").click();
    await page.getByRole("dialog").getByText("12345678901234567890").waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await visible(page, "No endpoint takes it").waitFor();
    await using other = await open(`/sources/${world.sources.works}`);
    await other.page.getByRole("link", { name: "1 delivery" }).first().click();
    await visible(other.page, "github.push").waitFor();
    expect(await other.page.locator("a[data-row]").count()).toBe(1);
  });

  test("is paused and resumed after a question, and what came meanwhile is said", async () => {
    const source = await make("service");
    await using opened = await open(`/sources/${source.id}`);
    const { page } = opened;
    await button(page, "Pause").click();
    await page.getByRole("dialog").getByText("What it gives up before you resume is lost").waitFor();
    await button(page, "Pause source").click();
    await visible(page, "answered 503 meanwhile").waitFor();
    expect((await sendToken(world.app, source, {})).status).toBe(503);
    await visible(page, "While paused").waitFor();
    await button(page, "Resume").click();
    await page.getByRole("status").getByText("The source goes on").waitFor();
    expect((await sourceOf(source.id))["status"]).toBe("active");
  });

  test("keeps its name, and what strangers sent, as text", async () => {
    const source = await make("service", { name: HOSTILE });
    await sendToken(world.app, source, { type: "hostile", text: HOSTILE });
    await using opened = await open(`/sources/${source.id}`);
    const { page } = opened;
    let hasRun = false;
    page.on("dialog", () => void (hasRun = true));
    await page.getByRole("heading", { name: HOSTILE, level: 1 }).waitFor();
    await button(page, "service.hostile").click();
    await page.getByRole("dialog").getByText("onerror=alert(1)").waitFor();
    expect(await page.locator("main img:not(.customer img), main script").count()).toBe(0);
    expect(hasRun).toBe(false);
    opened.conduct.expectGood(world.app.url);
  });

  test("that is not there is said not to be, as another project's is", async () => {
    await using opened = await open("/sources/src_01KAHM9Q7W00ZZZZZZZZZZZZZZ");
    await visible(opened.page, "This is not there").waitFor();
    await using foreign = await open(`/sources/${world.sources.works}`, {}, world.app.keys.test);
    await visible(foreign.page, "This is not there").waitFor();
  });
});

describe.skipIf(!hasChromium)("settings", () => {
  test(
    "are saved and discarded, wrong ones are told at their field, and a source is deleted after a question",
    async () => {
      const source = await make("hmac", { config: { header: "x-a", algorithm: "sha256", encoding: "hex" } });
      await using opened = await open(`/sources/${source.id}/settings`);
      const { page } = opened;
      await page.getByLabel("Signature header").fill("not a header");
      await page.getByText("More settings").click();
      await page.getByLabel(/^Consumer/).fill(CONSUMER);
      await page.getByLabel(/^Requests a second/).fill("5");
      await button(page, "Save").click();
      await page.getByRole("alert").getByText("Expected the name of a header").waitFor();
      await button(page, "Discard changes").click();
      expect(await page.getByLabel("Signature header").inputValue()).toBe("x-a");
      await page.getByLabel("Name", { exact: true }).fill("Renamed");
      await page.getByText("More settings").click();
      await page.getByLabel(/^Requests a second/).fill("5");
      await page.getByLabel(/^Encoding/).selectOption("base64");
      await button(page, "Save").click();
      await page.getByRole("heading", { name: "Renamed", level: 1 }).waitFor();
      expect(await sourceOf(source.id)).toMatchObject({
        name: "Renamed",
        consumer_id: null,
        rate_limit_per_second: 5,
        config: { header: "x-a", algorithm: "sha256", encoding: "base64" },
      });
      await button(page, "Delete source").click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete source" }).click();
      await page.getByRole("heading", { name: "Sources", level: 1 }).waitFor();
      expect((await world.app.live.get(`/v1/sources/${source.id}`)).status).toBe(404);
      opened.conduct.expectGood(world.app.url, /status of (404|422)/);
    },
    BROWSER_MS,
  );
});

describe.skipIf(!hasChromium)("other languages and directions", () => {
  test("German is spoken, the provider's own words are marked as English", async () => {
    await using opened = await open(`/sources/${world.sources.awaits}/setup`, { locale: "de-DE" });
    const { page } = opened;
    await heading(page, "Tragen Sie diese Adresse bei Slack ein").waitFor();
    expect(await page.locator("main [lang='en']").count()).toBeGreaterThan(1);
    await expectAccessible(page);
  });

  test(
    "from right to left nothing stands out of the page",
    async () => {
      const { works, refuses } = world.sources;
      for (const path of [`/sources/${works}/setup`, `/sources/${refuses}`, "/sources/new"]) {
        for (const width of [1280, 320]) {
          const address = world.console(path).replace("#", "?dir=rtl#");
          await using opened = await browser.open(address, { width });
          await opened.page.locator("h1").filter({ visible: true }).first().waitFor();
          await opened.page.locator(".guide, .reasons, .providers").first().waitFor();
          await expectNoSidewaysScroll(opened.page);
        }
      }
    },
    BROWSER_MS,
  );
});
