// time budget: 300 s
/** The portal's tab for filter and transformations, in a real browser against the real service. */
import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, hasChromium, visible } from "../kit/browser.ts";
import { BROWSER_MS, openStage } from "../portal/stage.ts";
import { CONSUMER, HOSTILE } from "../portal/world.ts";

const ALL = { consumer_id: CONSUMER, manage: true };
const { world, browser } = await openStage();
/** Of an endpoint of their own. */
let id: string;

beforeAll(async () => {
  if (!hasChromium) return;
  const url = world.receiver.url("shaped");
  ({ id = "" } = await world.app.live.create("/v1/endpoints", { url, consumer_id: CONSUMER }));
});

const open = async (options = {}, grants: object = ALL) =>
  browser.open(`${await world.link({ ...grants })}/endpoints/${id}/shape`, options);
const stored = async () => (await world.app.live.get(`/v1/endpoints/${id}`)).json;
const patch = (fields: Record<string, unknown>) => world.app.live.patch(`/v1/endpoints/${id}`, fields);

/** As rows, or as JSON. */
const edit = (page: Page, part: "Filter" | "Transformations", mode: "Build" | "JSON") =>
  page
    .getByRole("group", { name: `${part}: Way of editing` })
    .getByRole("button", { name: mode })
    .click();

describe.skipIf(!hasChromium)("filter and transformations", () => {
  test.each([
    ["en-GB", "Filter as JSON", 'No event has "data.total" at its top'],
    ["de-DE", "Filter als JSON", "Kein Ereignis hat oben „data.total“"],
  ])(
    "a filter that looks for what no event has says so while it is typed, in %s",
    async (locale, label, told) => {
      await using opened = await open({ locale });
      const { page } = opened;
      await page.getByRole("button", { name: "JSON", exact: true }).first().click();
      const json = page.getByRole("textbox", { name: label });
      await json.fill('{"data.total": {"$gte": 1}}');
      await visible(page, told).waitFor();
      await visible(page, '{"data": {"total": …}}').waitFor();
      await json.fill('{"data": {"total": {"$gte": 1}}}');
      await visible(page, told).waitFor({ state: "detached" });
      opened.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );

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
      await edit(page, "Filter", "JSON");
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
      await edit(page, "Filter", "JSON");
      await edit(page, "Transformations", "JSON");
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
      await edit(page, "Transformations", "JSON");
      const changes = page.getByRole("textbox", { name: "Transformations as JSON" });
      await changes.fill('[{"op": "rename", "from": "data.id", "to": "data.key"}]');
      await page.locator(".diff ins").filter({ hasText: '"key"' }).first().waitFor();
      await page.locator(".diff del").filter({ hasText: '"id"' }).first().waitFor();
      const [whole, line] = [page.locator(".diff").first(), page.locator(".diff ins").first()];
      const [outer, inner] = [await whole.boundingBox(), await line.boundingBox()];
      expect((inner?.y ?? 0) - (outer?.y ?? Infinity)).toBeGreaterThan(0);
      await changes.fill('[{"op": "unwrap", "path": "data.none"}]');
      await visible(page, "Cannot be transformed").waitFor();
      await visible(page, /cannot be transformed\.$/).waitFor();
    },
    BROWSER_MS,
  );

  test(
    "transformations are built of steps in their order; to JSON and back nothing is lost",
    async () => {
      const strange = { op: "wrap", key: "event", note: "of another version" };
      await patch({ filter: null, transformations: null });
      await using opened = await open();
      const { page } = opened;
      const step = (nth: number) => page.getByRole("group", { name: `Step ${nth}` });
      await page.getByRole("button", { name: "Add step" }).click();
      await step(1).getByLabel("Field").fill("data.id");
      await step(1).getByLabel("Field").nth(1).fill("type");
      await page.getByRole("button", { name: "Add step" }).click();
      await step(2).getByLabel("Operation").selectOption("Rename");
      await step(2).getByLabel("From").fill("data.id");
      // What is not complete yet is not tried, and not forgotten either.
      await edit(page, "Transformations", "JSON");
      const json = page.getByRole("textbox", { name: "Transformations as JSON" });
      const pick = { op: "pick", paths: ["data.id", "type"] };
      expect(JSON.parse(await json.inputValue())).toEqual([pick]);
      await edit(page, "Transformations", "Build");
      expect(await step(2).getByLabel("From").inputValue()).toBe("data.id");
      await step(2).getByLabel("To", { exact: true }).fill("data.key");
      await page.locator(".diff ins").filter({ hasText: '"key"' }).first().waitFor();
      await page.getByRole("button", { name: "Move step 2 up" }).press("Enter");
      await step(1).getByLabel("From").waitFor();
      await expectAccessible(page);
      const rename = { op: "rename", from: "data.id", to: "data.key" };
      await edit(page, "Transformations", "JSON");
      expect(JSON.parse(await json.inputValue())).toEqual([rename, pick]);
      await json.fill(JSON.stringify([rename, strange, { op: "set", path: "__proto__.x", value: 1 }]));
      await edit(page, "Transformations", "Build");
      await visible(page, "A step cannot show this part").waitFor();
      await step(2).getByText("note").first().waitFor();
      await step(2).locator(".field-error").waitFor();
      await page.getByRole("button", { name: "Remove step 2" }).click();
      await step(2).getByLabel("Field").fill("data.x");
      await page.getByRole("button", { name: "Save" }).click();
      await visible(page, "Saved. It holds").waitFor();
      expect((await stored())["transformations"]).toEqual([rename, { op: "set", path: "data.x", value: 1 }]);
      opened.conduct.expectGood(world.app.url, /status of 422/);
      await using narrow = await open({ width: 320, isPhone: true });
      await step(1).waitFor();
      await narrow.page.getByRole("group", { name: "Step 1" }).waitFor();
      await expectNoSidewaysScroll(narrow.page);
      await patch({ transformations: null });
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
