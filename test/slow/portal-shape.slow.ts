// time budget: 300 s
/** The portal's tab for filter and transformations, in a real browser against the real service. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  expectAccessible,
  expectNoSidewaysScroll,
  hasChromium,
  startBrowser,
  type TestBrowser,
  visible,
} from "../kit/browser.ts";
import { CONSUMER, HOSTILE, startWorld, type World } from "../portal/world.ts";

const BROWSER_MS = 60_000;
const ALL = { consumer_id: CONSUMER, manage: true };
let world: World;
let browser: TestBrowser;
/** Of an endpoint of their own. */
let id: string;

beforeAll(async () => {
  if (!hasChromium) return;
  [world, browser] = await Promise.all([startWorld(), startBrowser()]);
  const url = world.receiver.url("shaped");
  ({ id = "" } = await world.app.live.create("/v1/endpoints", { url, consumer_id: CONSUMER }));
}, BROWSER_MS);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const open = async (options = {}, grants: object = ALL) =>
  browser.open(`${await world.link({ ...grants })}/endpoints/${id}/shape`, options);
const stored = async () => (await world.app.live.get(`/v1/endpoints/${id}`)).json;
const patch = (fields: Record<string, unknown>) => world.app.live.patch(`/v1/endpoints/${id}`, fields);

describe.skipIf(!hasChromium)("filter and transformations", () => {
  test(
    "a filter is built of rows, tried on the stored events as it grows, and saved",
    async () => {
      await using opened = await open();
      const { page } = opened;
      await visible(page, /of the last \d+ events match/).waitFor();
      await page.getByRole("button", { name: "Add condition" }).click();
      await page.getByLabel("Field").fill("type");
      await page.getByLabel("Value", { exact: true }).fill("invoice.paid");
      await visible(page, /^8 of the last \d+ events match/).waitFor();
      await visible(page, /^\/type said no/).waitFor();
      await page.getByRole("button", { name: "Add condition" }).click();
      await page.getByLabel("Field").nth(1).fill("data.total");
      await page.getByLabel("Comparison").nth(1).selectOption("$gte");
      await page.getByLabel("Value", { exact: true }).nth(1).fill("991");
      await visible(page, /^0 of the last \d+ events match/).waitFor();
      await page.getByRole("button", { name: "JSON", exact: true }).click();
      const json = page.getByRole("textbox", { name: "Filter as JSON" });
      const filter = { type: "invoice.paid", data: { total: { $gte: 991 } } };
      expect(JSON.parse(await json.inputValue())).toEqual(filter);
      await page.getByRole("button", { name: "Save" }).click();
      await visible(page, "Saved. It holds from the next delivery on.").waitFor();
      expect((await stored())["filter"]).toEqual(filter);
      await page.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
      opened.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );

  test(
    "what is wrong stands at its line, and is not saved",
    async () => {
      await patch({ filter: null });
      await using opened = await open();
      const { page } = opened;
      await page.getByRole("button", { name: "JSON", exact: true }).click();
      const json = page.getByRole("textbox", { name: "Filter as JSON" });
      await json.fill('{\n  "data": {\n    "total": { "$above": 3 }\n  }\n}');
      await visible(page, /^Line 3: "\$above" is no operator/).waitFor();
      expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
      await expectAccessible(page);
      await json.fill('{\n  "data":\n}');
      await visible(page, "Line 3: From here on it is not JSON.").waitFor();
      const changes = page.getByRole("textbox", { name: "Transformations as JSON" });
      await json.fill("");
      await changes.fill('[\n  { "op": "omit", "paths": ["data.email"] },\n  { "op": "turn" }\n]');
      await visible(page, /^Line 3: /).waitFor();
      await page.getByRole("button", { name: "Discard" }).click();
      await page.getByRole("button", { name: "Discard" }).waitFor({ state: "detached" });
      expect((await stored())["transformations"]).toBeNull();
    },
    BROWSER_MS,
  );

  test(
    "what transformations do is shown as a difference, and what they cannot do is said",
    async () => {
      await using opened = await open();
      const { page } = opened;
      const changes = page.getByRole("textbox", { name: "Transformations as JSON" });
      await changes.fill('[{"op": "rename", "from": "data.id", "to": "data.key"}]');
      await page.locator(".diff ins").filter({ hasText: '"key"' }).first().waitFor();
      await page.locator(".diff del").filter({ hasText: '"id"' }).first().waitFor();
      await changes.fill('[{"op": "unwrap", "path": "data.none"}]');
      await visible(page, "Cannot be transformed").waitFor();
      await visible(page, /cannot be transformed\.$/).waitFor();
    },
    BROWSER_MS,
  );

  test(
    "what rows cannot show stays as it is while the rest is changed",
    async () => {
      const filter = {
        $or: [{ type: "invoice.paid" }, { type: "customer.created" }],
        data: { nth: { $lt: 9 } },
      };
      await patch({ filter });
      await using opened = await open();
      const { page } = opened;
      await visible(page, "Rows cannot show this part").waitFor();
      await page.getByLabel("Value", { exact: true }).fill("5");
      await page.getByRole("button", { name: "Save" }).click();
      await visible(page, "Saved. It holds").waitFor();
      expect((await stored())["filter"]).toEqual({ ...filter, data: { nth: { $lt: 5 } } });
      await expectAccessible(page);
      opened.conduct.expectGood(world.app.url);
      await using narrow = await open({ width: 320, isPhone: true });
      await visible(narrow.page, "Rows cannot show this part").waitFor();
      await expectNoSidewaysScroll(narrow.page);
    },
    BROWSER_MS,
  );

  test(
    "whoever only reads sees them and what they do, without a control; what strangers wrote is text",
    async () => {
      await patch({ filter: { type: "customer.deleted", data: { note: { $neq: HOSTILE.slice(1) } } } });
      await using opened = await open({ theme: "dark" }, { consumer_id: CONSUMER });
      const { page } = opened;
      await visible(page, /^1 of the last \d+ events match/).waitFor();
      expect(await page.locator("article").getByRole("textbox").count()).toBe(0);
      expect(await page.getByRole("button", { name: /Save|Add condition|Discard/ }).count()).toBe(0);
      await page.locator(".diff").filter({ hasText: "onerror=alert(1)" }).waitFor();
      expect(await page.locator("main img, main script").count()).toBe(0);
      await expectAccessible(page);
      opened.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );
});
