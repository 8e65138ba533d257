// time budget: 300 s
/** Bulk replays from the portal, in a real browser against the real service. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, hasChromium, type OpenPage, visible } from "../kit/browser.ts";
import { makeEndpoint, publish, settled } from "../portal/deliveries.ts";
import { BROWSER_MS, openStage } from "../portal/stage.ts";
import { CONSUMER } from "../portal/world.ts";

const { world, browser } = await openStage();

const ALL = { consumer_id: CONSUMER, manage: true, create: true };
const rowsOf = (page: Page) => page.locator("a[data-row]");
const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name });

/** The list, once its rows stand there. */
async function openList(query: string): Promise<OpenPage> {
  const opened = await browser.open(`${await world.link({ ...ALL })}/deliveries${query}`);
  await rowsOf(opened.page).first().waitFor();
  return opened;
}

describe.skipIf(!hasChromium)("a bulk replay", () => {
  let endpoint: string;

  beforeEach(async () => {
    const path = `bulk-${crypto.randomUUID()}`;
    world.receiver.at(path, () => new Response(null, { status: 500 }));
    endpoint = await makeEndpoint(world, path, `bulk.${path}`, 4);
    await settled(world, endpoint, "dead", 4);
    world.receiver.at(path, () => new Response(null, { status: 200 }));
  });

  test(
    "of all that match says how many first, then how far it is, and the rows say that they arrived",
    async () => {
      await using opened = await openList(`?endpoint=${endpoint}`);
      const { page } = opened;
      await button(page, "Replay…").click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("4 deliveries will be sent again.").waitFor();
      await dialog.getByLabel("Dead").uncheck();
      await dialog.getByText("Nothing to replay").waitFor();
      await dialog.getByLabel("Dead").check();
      await expectAccessible(page);
      await dialog.getByRole("button", { name: "Replay 4 deliveries" }).click();
      await visible(page, "Replayed: 4 of 4 deliveries").waitFor();
      await page.locator("tbody .badge.good").nth(3).waitFor();
      opened.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );

  test(
    "of what was ticked takes these alone, and can be stopped",
    async () => {
      await using opened = await openList(`?endpoint=${endpoint}`);
      const { page } = opened;
      const ticks = page.getByRole("checkbox", { name: /^Select bulk/ });
      await ticks.nth(0).check();
      await ticks.nth(2).check();
      await visible(page, "2 selected").waitFor();
      await ticks.nth(3).check();
      await button(page, "Replay 3…").click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Speed").selectOption("1 a second");
      await dialog.getByRole("button", { name: "Replay 3 deliveries" }).click();
      await button(page, "Stop").click();
      await visible(page, /^Stopped: \d of 3 deliveries replayed/).waitFor();
      const { json } = await world.app.live.get("/v1/replays?limit=1");
      expect(json["data"]).toMatchObject([{ status: "cancelled", matched: 3 }]);
    },
    BROWSER_MS,
  );

  test(
    "of what an endpoint never got counts it since a time, from the endpoint and from the list below its filter",
    async () => {
      const type = `missed.${crypto.randomUUID().slice(0, 8)}`;
      for (let nth = 0; nth < 3; nth++) await publish(world, type, { nth });
      const late = await makeEndpoint(world, type, type, 0);
      await using opened = await browser.open(`${await world.link({ ...ALL })}/endpoints/${late}`);
      const { page } = opened;
      await button(page, "Replay…").click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "What it never got" }).click();
      await dialog.getByText("3 events will be sent.").waitFor();
      await dialog.getByLabel("Since").fill("2037-01-01T00:00");
      await dialog.getByText("Nothing is missing since then").waitFor();
      await dialog.getByLabel("Since").fill("2020-01-01T00:00");
      await expectAccessible(page);
      await dialog.getByRole("button", { name: "Send 3 events" }).click();
      await visible(page, "Replayed: 3 of 3 deliveries").waitFor();
      await world.receiver.arrived(type, 3);
      await page.goto(`${page.url().split("#")[0]}#/deliveries?endpoint=${late}&type=${type}&status=dead`);
      await visible(page, "No deliveries").waitFor();
      await button(page, "Replay…").click();
      await dialog.getByRole("button", { name: "What it never got" }).click();
      await dialog.getByText(`Only of the type ${type}.`).waitFor();
      await dialog.getByText("Nothing is missing since then").waitFor();
      opened.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );
});
