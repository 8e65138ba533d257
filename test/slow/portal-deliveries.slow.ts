// time budget: 300 s
/** The screens of deliveries in a real browser against the real service. */
import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import {
  expectAccessible,
  expectNoSidewaysScroll,
  hasChromium,
  holdBack,
  type OpenPage,
  visible,
} from "../kit/browser.ts";
import { makeEndpoint, publish, type Row, settled } from "../portal/deliveries.ts";
import { BROWSER_MS, openStage } from "../portal/stage.ts";
import { CONSUMER, HOSTILE, type World } from "../portal/world.ts";

const { world, browser } = await openStage();

const READ = { consumer_id: CONSUMER };
const MANAGE = { consumer_id: CONSUMER, manage: true };
const ALL = { ...MANAGE, create: true };
const rowsOf = (page: Page) => page.locator("a[data-row]");
const hashOf = (page: Page) => new URL(page.url()).hash;
const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name });

/** The list below `grants`, once its rows stand there. */
async function openList(query = "", grants: object = ALL): Promise<OpenPage> {
  const opened = await browser.open(`${await world.link({ ...grants })}/deliveries${query}`);
  await rowsOf(opened.page).first().waitFor();
  return opened;
}

async function deliveriesOf(endpoint: keyof World["endpoints"], query = ""): Promise<Row[]> {
  const { json } = await world.app.live.get(
    `/v1/deliveries?limit=250&endpoint_id=${world.endpoints[endpoint]}${query}`,
  );
  return json["data"] as Row[];
}

/** The delivery's own page, once its attempts stand there. */
async function openDelivery(id: string, grants: object = ALL, options = {}): Promise<OpenPage> {
  const opened = await browser.open(`${await world.link({ ...grants })}/deliveries/${id}`, options);
  await opened.page.locator(".attempts, .delivery .empty").first().waitFor();
  return opened;
}

const firstOf = async (endpoint: keyof World["endpoints"], query = "") => {
  const [row] = await deliveriesOf(endpoint, query);
  if (row === undefined) throw new Error(`${endpoint} has no such delivery`);
  return row;
};

describe.skipIf(!hasChromium)("the list", () => {
  test("is narrowed by status, endpoint, type and code, and the address has it", async () => {
    await using opened = await openList();
    const { page } = opened;
    await page.getByRole("button", { name: "Dead", exact: true }).click();
    await visible(page, "1 delivery").waitFor();
    expect(hashOf(page)).toBe("#/deliveries?status=dead");
    await page.getByRole("button", { name: "All", exact: true }).click();
    await page.getByLabel("Endpoint", { exact: true }).selectOption({ label: "Data warehouse" });
    await page.getByLabel("Event type", { exact: true }).selectOption("invoice.paid");
    await visible(page, "8 deliveries").waitFor();
    await page.getByLabel("Code", { exact: true }).fill("410");
    await visible(page, "No deliveries").waitFor();
    await button(page, "Clear filters").click();
    await visible(page, "Newest 50 deliveries").waitFor();
    expect(hashOf(page)).toBe("#/deliveries");
    opened.conduct.expectGood(world.app.url);
  });

  test("is searched by id, by external id, and by text in the body", async () => {
    await publish(world, "customer.created", { note: "a purple umbrella" }, { external_id: "order-1001" });
    const [{ id, event_id: eventId }] = (await deliveriesOf("works")) as [Row];
    await using opened = await openList();
    const { page } = opened;
    const search = page.getByPlaceholder("Search by id");
    await search.fill("PURPLE umbrella");
    await visible(page, /^2 deliveries$/).waitFor();
    await search.fill("order-1001");
    await visible(page, "External id order-1001").waitFor();
    await visible(page, /^2 deliveries$/).waitFor();
    await search.fill(eventId);
    await page.waitForURL(new RegExp(eventId));
    await visible(page, /^2 deliveries$/).waitFor();
    await search.fill(id);
    await visible(page, /^1 delivery$/).waitFor();
    await search.fill("nobody wrote this");
    await visible(page, "No deliveries").waitFor();
  });

  test("keeps its rows while it is searched anew, with nothing to do with them as a whole", async () => {
    await using opened = await openList("?status=delivered");
    const { page } = opened;
    const before = await rowsOf(page).count();
    const lookUp = await holdBack(page, /external_id=nobody/);
    const answer = await holdBack(page, /\/v1\/deliveries\?.*q=nobody/);
    const busy = page.locator(".listing[aria-busy=true]");
    await page.getByPlaceholder("Search by id").fill("nobody");
    await busy.waitFor();
    const asked = page.waitForRequest(/\/v1\/deliveries\?.*q=nobody/);
    lookUp();
    await asked;
    expect([await rowsOf(page).count(), await busy.count()]).toEqual([before, 1]);
    expect(await page.locator(".list-bar[inert]").count()).toBe(1);
    answer();
    await visible(page, "No deliveries").waitFor();
    expect([await rowsOf(page).count(), await busy.count()]).toEqual([0, 0]);
    // An id is no query of the list: its row comes in the same way.
    const { id } = await firstOf("gone");
    await page.getByPlaceholder("Search by id").fill("");
    await rowsOf(page).first().waitFor();
    const one = await holdBack(page, new RegExp(`/v1/deliveries/${id}`));
    await page.getByPlaceholder("Search by id").fill(id);
    await busy.waitFor();
    expect(await rowsOf(page).count()).toBe(before);
    one();
    await visible(page, /^1 delivery$/).waitFor();
  });

  test("shows no rows of one endpoint where those of another will stand", async () => {
    await using opened = await openList(`?endpoint=${world.endpoints.works}`);
    const { page } = opened;
    const { works, fails } = world.endpoints;
    const answer = await holdBack(page, new RegExp(`/v1/deliveries\\?.*endpoint_id=${fails}`));
    await page.getByLabel("Endpoint", { exact: true }).selectOption(fails);
    await rowsOf(page).first().waitFor({ state: "detached" });
    expect(await page.locator("tbody tr").count()).toBe(0);
    answer();
    await rowsOf(page).first().waitFor();
    expect(await page.locator(`tbody a[href*="${works}"]`).count()).toBe(0);
  });

  test("counts what is new, and shows it when it is asked for, moving nothing", async () => {
    await using opened = await openList("?status=delivered");
    const { page } = opened;
    const before = await rowsOf(page).first().getAttribute("href");
    for (let nth = 0; nth < 3; nth++) await publish(world, "customer.created", { nth });
    await button(page, "3 new").waitFor();
    expect(await rowsOf(page).first().getAttribute("href")).toBe(String(before));
    await button(page, "3 new").click();
    await button(page, "3 new").waitFor({ state: "detached" });
    expect(await rowsOf(page).first().getAttribute("href")).not.toBe(String(before));
  });

  test("a row that is shown changes in its place, also where it leaves the filter", async () => {
    world.receiver.at("mends", () => new Response(null, { status: 500 }));
    const endpoint = await makeEndpoint(world, "mends", "mends.now", 2);
    const [first] = await settled(world, endpoint, "dead", 2);
    await using opened = await openList(`?status=dead&endpoint=${endpoint}`);
    world.receiver.at("mends", () => new Response(null, { status: 200 }));
    await world.app.live.post(`/v1/deliveries/${first?.id}/retry`, {});
    await opened.page.locator("tbody tr").first().getByText("Delivered").waitFor();
    expect(await rowsOf(opened.page).count()).toBe(2);
  });

  test("is drawn over in the chart: by mouse, and by Shift and the arrows", async () => {
    await using opened = await openList();
    const { page } = opened;
    const bars = page.locator(".bar");
    await bars.first().waitFor();
    const from = await bars.nth(2).boundingBox();
    const to = await bars.nth(6).boundingBox();
    await page.mouse.move((from?.x ?? 0) + 3, (from?.y ?? 0) + 20);
    await page.mouse.down();
    await page.mouse.move((to?.x ?? 0) + 3, (to?.y ?? 0) + 20, { steps: 4 });
    await page.mouse.up();
    await visible(page, "No deliveries").waitFor();
    expect(await page.locator(".bar[aria-pressed=true]").count()).toBe(5);
    await button(page, /Remove the filter/).click();
    await rowsOf(page).first().waitFor();
    await bars.last().focus();
    for (let step = 0; step < 2; step++) await page.keyboard.press("Shift+ArrowLeft");
    await page.locator(".bar[aria-pressed=true]").nth(2).waitFor();
    await rowsOf(page).first().waitFor();
  });

  test("stands below a chart of itself, whatever narrows it; of a search the chart says that it does not", async () => {
    const query = `?endpoint=${world.endpoints.fails}&type=invoice.paid`;
    await using opened = await openList(query);
    const { page } = opened;
    const bar = page.getByRole("button", { name: "0 delivered, 8 waiting, 0 dead, 0 cancelled" });
    await bar.click();
    await visible(page, "8 deliveries").waitFor();
    expect(hashOf(page)).toContain("from=");
    await page.getByLabel("Code", { exact: true }).fill("418");
    await bar.waitFor({ state: "detached" });
    await page.getByLabel("Code", { exact: true }).fill("");
    await bar.waitFor();
    await page.getByPlaceholder("Search by id").fill("nobody wrote this");
    await visible(page, "The search does not narrow the chart.").waitFor();
    await bar.waitFor();
    opened.conduct.expectGood(world.app.url);
  });

  test("goes on below, page by page", async () => {
    await using opened = await openList();
    await opened.page.getByRole("button", { name: "Show more" }).click();
    await rowsOf(opened.page).nth(50).waitFor();
  });
});

describe.skipIf(!hasChromium)("a delivery", () => {
  test("that failed says why and what to do, with its next attempt and the end of its schedule", async () => {
    const { id } = await firstOf("fails", "&status=retrying");
    await using opened = await openDelivery(id);
    const { page } = opened;
    await visible(page, "127.0.0.1 answered 500: it failed on its side.").waitFor();
    const steps = await page.getByRole("group", { name: "Timeline" }).getByRole("listitem").allTextContents();
    expect(steps).toHaveLength(4);
    expect(steps[1]).toContain("Attempt 1: 500 Rejected.");
    expect(steps[2]).toContain("Next attempt.");
    expect(steps[3]).toContain("Last attempt, if it fails until then");
    await visible(page, "database is down").waitFor();
    opened.conduct.expectGood(world.app.url);
  });

  test("shows what was sent and what came back: headers folded, the body laid out, raw on demand", async () => {
    const { id } = await firstOf("works");
    await using opened = await openDelivery(id);
    const { page } = opened;
    const request = page.getByRole("region", { name: "Request" });
    await request.getByText(/^\d+ headers$/).click();
    await request.getByText(id).waitFor();
    expect(await request.locator("pre").innerText()).toContain("\n  ");
    await request.getByRole("button", { name: "Raw" }).click();
    expect(await request.locator("pre").innerText()).toStartWith('{"type":"');
    await request.getByText(/^Body · \d+ bytes$/).waitFor();
  });

  test("is copied as a command that sends the same again", async () => {
    const { id } = await firstOf("works");
    await using opened = await openDelivery(id);
    await opened.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await button(opened.page, "Copy as curl").click();
    await visible(opened.page, "Copied: curl command").waitFor();
    const command = await opened.page.evaluate<string>("navigator.clipboard.readText()");
    const before = world.receiver.requests("works").length;
    const child = Bun.spawn(["bash", "-c", command.replace(/^curl/, "curl -s")]);
    expect(await child.exited).toBe(0);
    const [first, last] = [before - 1, before].map((at) => world.receiver.requests("works").at(at));
    expect(last?.headers["webhook-id"]).toBe(id);
    expect([first, last].every((one) => one?.headers["webhook-signature"] !== undefined)).toBe(true);
  });

  test("is tried now, cancelled, and replayed under its id or as a new message", async () => {
    const { id } = await firstOf("fails", "&status=retrying");
    await using opened = await openDelivery(id);
    const { page } = opened;
    await button(page, "Retry now").click();
    await visible(page, "Attempt 2").waitFor();
    await button(page, "Cancel delivery").click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel delivery" }).click();
    await visible(page, "It was cancelled and is not tried again.").waitFor();
    await button(page, "Replay…").click();
    await page.getByRole("dialog").getByLabel("As a new message").check();
    await button(page, "Send as a new message").click();
    await visible(page, "The delivery is sent again.").waitFor();
    await page.waitForURL((url) => !url.hash.includes(id));
    expect(hashOf(page)).toMatch(/^#\/deliveries\/msg_/);
  });

  test("that waits or was given up says for what and why, without a code alone", async () => {
    await using waits = await openDelivery((await firstOf("paused", "&status=pending")).id);
    await visible(waits.page, "It waits because its endpoint is paused.").waitFor();
    await using dead = await openDelivery((await firstOf("gone")).id);
    await visible(dead.page, "The endpoint said that it is gone").waitFor();
    await button(dead.page, "Enable endpoint").waitFor();
  });

  test("whose answer was longer than what is kept says so", async () => {
    world.receiver.at("long", () => new Response("x".repeat(40_000), { status: 200 }));
    const endpoint = await makeEndpoint(world, "long", "long.answer", 1);
    const [row] = await settled(world, endpoint, "delivered", 1);
    await using opened = await openDelivery(row?.id ?? "");
    await visible(opened.page, /The answer was longer; its first 16[.,]4 kB are kept/).waitFor();
  });
});

describe.skipIf(!hasChromium)("grants", () => {
  const CHANGING = /\b(retry|replay|cancel|enable|select)\b/i;

  test("whoever only reads is shown nothing that changes anything, and is refused it", async () => {
    const { id, event_id: eventId } = await firstOf("gone");
    await using list = await openList("", READ);
    await using detail = await openDelivery(id, READ);
    for (const { page } of [list, detail]) {
      const names = await page
        .locator("main button, main a.button, main input")
        .evaluateAll((controls) =>
          controls.map((one) => `${one.textContent} ${one.getAttribute("aria-label")}`),
        );
      expect(names.filter((name) => CHANGING.test(name))).toEqual([]);
    }
    const token = (await world.link({ ...READ })).split("#")[1] ?? "";
    for (const path of [
      `deliveries/${id}/retry`,
      `deliveries/${id}/cancel`,
      `events/${eventId}/replay`,
      "replays",
    ]) {
      const response = await fetch(`${world.app.url}/v1/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: "{}",
      });
      expect([path, response.status]).toEqual([path, 403]);
    }
  });

  test("manage replays; create alone does not", async () => {
    await using manages = await openList("", MANAGE);
    await button(manages.page, "Replay…").waitFor();
    await using creates = await openList("", { ...READ, create: true });
    expect(await button(creates.page, "Replay…").count()).toBe(0);
  });

  test("an id of another consumer's is not there", async () => {
    const event = await publish(world, "note.added", {}, { consumer_id: "cust_8" });
    const { json } = await world.app.live.get(`/v1/deliveries?event_id=${event}`);
    const [{ id }] = json["data"] as [Row];
    await using opened = await browser.open(`${await world.link({ ...ALL })}/deliveries/${id}`);
    await visible(opened.page, "This is not there").waitFor();
  });
});

describe.skipIf(!hasChromium)("what strangers sent", () => {
  test("stands as text in the list, the detail and the dialog", async () => {
    const hostile = `${HOSTILE}'"\`$(touch /tmp/x)`;
    world.receiver.at(
      "hostile",
      () => new Response(`<h1>${HOSTILE}</h1>`, { status: 500, headers: { "x-evil": HOSTILE } }),
    );
    const endpoint = await makeEndpoint(world, "hostile", "hostile.event", 0);
    await publish(world, "hostile.event", { [hostile]: hostile }, { external_id: hostile });
    const [row] = await settled(world, endpoint, "dead", 1);
    await using opened = await openDelivery(row?.id ?? "");
    const { page } = opened;
    let hasRun = false;
    page.on("dialog", () => void (hasRun = true));
    for (const headers of await page.locator(".headers summary").all()) await headers.click();
    await page.getByText(`<h1>${HOSTILE}</h1>`).waitFor();
    expect(await page.locator("main img, main script, main h1 h1").count()).toBe(0);
    await page.goto(`${page.url().split("#")[0]}#/deliveries?q=${encodeURIComponent(hostile)}`);
    await rowsOf(page).first().waitFor();
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(hasRun).toBe(false);
    opened.conduct.expectGood(world.app.url);
  });
});

describe.skipIf(!hasChromium)("by keyboard, on a phone, in German", () => {
  test("/ searches, j walks, Enter opens, Esc closes and comes back with the filter", async () => {
    await using opened = await openList("?status=delivered");
    const { page } = opened;
    await page.keyboard.press("/");
    expect(await page.evaluate("document.activeElement.type")).toBe("search");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator(".attempts").waitFor();
    expect(hashOf(page)).toMatch(/^#\/deliveries\/msg_\w+\?status=delivered$/);
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Deliveries", level: 1 }).waitFor();
    expect(hashOf(page)).toBe("#/deliveries?status=delivered");
  });

  test(
    "a phone shows list and detail whole, from right to left too",
    async () => {
      const { id } = await firstOf("fails", "&status=retrying");
      const address = (await world.link({ ...ALL })).replace("#", "?dir=rtl#");
      for (const path of ["/deliveries", `/deliveries/${id}`]) {
        for (const start of [address, await world.link({ ...ALL })]) {
          await using opened = await browser.open(`${start}${path}`, { width: 320, isPhone: true });
          await opened.page.locator(".attempts, a[data-row]").filter({ visible: true }).first().waitFor();
          await expectNoSidewaysScroll(opened.page);
          await expectAccessible(opened.page);
        }
      }
    },
    BROWSER_MS,
  );

  test("German is spoken", async () => {
    const { id } = await firstOf("gone");
    await using opened = await openDelivery(id, ALL, { locale: "de-DE" });
    await visible(opened.page, "Verlauf").waitFor();
    await visible(opened.page, "Der Endpunkt sagte, dass es ihn nicht mehr gibt").waitFor();
  });
});
