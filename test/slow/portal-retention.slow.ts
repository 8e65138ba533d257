// time budget: 120 s
/**
 * What the portal says of a delivery that retention took a part of: bodies and attempts may leave before
 * their event.
 */
import { afterAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, hasChromium, startBrowser, visible } from "../kit/browser.ts";
import { startApp } from "../kit/app.ts";
import { startReceiver } from "../kit/receiver.ts";
import { RunningClock } from "../kit/running-clock.ts";

const DAY_MS = 86_400_000;
const PLAN = {
  deliveries: null,
  blocks: false,
  retention_days: 10,
  body_retention_days: 1,
  attempt_retention_days: 3,
};

interface Delivery {
  id: string;
  status: string;
  attempt_count: number;
}

/**
 * A service that has run for five days: what it sent at their begin has lost its attempts, what came two days
 * ago its bodies.
 */
async function startAged() {
  const clock = new RunningClock();
  const receiver = startReceiver();
  const daysAgo = (days: number) => clock.set(Date.now() - days * DAY_MS);
  daysAgo(5);
  const app = await startApp({ clock, env: { SEALPOST_PLANS: JSON.stringify({ unlimited: PLAN }) } });
  const { live } = app;
  const url = receiver.url("aged");
  await live.create("/v1/endpoints", { url, description: "Ledger", retry: { schedule: [] } });
  const send = async (status: string, attempts = 1) => {
    receiver.at("aged", () => new Response("said", { status: status === "dead" ? 500 : 200 }));
    const { json: event } = await live.post("/v1/events", { type: "order.shipped", data: { id: 7 } });
    const tried = (count: number) =>
      app.until(async () => {
        const { json } = await live.get(`/v1/deliveries?event_id=${String(event["id"])}`);
        const [one] = json["data"] as Delivery[];
        return one?.status === status && one.attempt_count === count && one.id;
      });
    const id = await tried(1);
    for (let count = 2; count <= attempts; count++) {
      expect((await live.post(`/v1/deliveries/${id}/retry`)).status).toBe(202);
      await tried(count);
    }
    return id;
  };
  const dead = await send("dead", 2);
  const arrived = await send("delivered");
  daysAgo(2);
  const bodiless = await send("delivered");
  daysAgo(0);
  // Its jobs run once at the start.
  await app.stop();
  await app.start();
  await app.until(async () => {
    const read = async (id: string) => (await live.get(`/v1/deliveries/${id}/attempts`)).json["data"];
    const [first, second, third] = await Promise.all([arrived, dead, bodiless].map(read));
    const [kept] = third as { response_body: string | null }[];
    return [first, second].every((rows) => (rows as unknown[]).length === 0) && kept?.response_body === null;
  });
  const stop = async () => {
    await app[Symbol.asyncDispose]();
    await receiver.close();
  };
  return { app, arrived, dead, bodiless, stop };
}

const aged = hasChromium ? await startAged() : null;
const browser = hasChromium ? await startBrowser() : null;
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await aged?.stop();
});

/** The page of a delivery, with the project's full key. */
async function open(name: "arrived" | "dead" | "bodiless", locale = "en-GB") {
  if (!aged || !browser) throw new Error("there is no browser");
  const { app } = aged;
  const opened = await browser.open(`${app.url}/portal#${app.keys.live}/deliveries/${aged[name]}`, {
    locale,
  });
  await opened.page.locator(".attempts, .delivery .empty").first().waitFor();
  return opened;
}

describe.skipIf(!hasChromium)("a delivery whose attempts have left", () => {
  test("says how many there were, and by its timeline how it ended", async () => {
    await using opened = await open("dead");
    const { page } = opened;
    await visible(page, "2 attempts are no longer kept: they are too old.").waitFor();
    expect(await page.getByText("No attempt so far").count()).toBe(0);
    await expectAccessible(page);
    await using other = await open("arrived");
    await visible(other.page, "1 attempt is no longer kept: it is too old.").waitFor();
    await other.page.locator(".timeline .point.good").waitFor();
    expect(await other.page.locator(".timeline li").count()).toBe(2);
    opened.conduct.expectGood(aged?.app.url ?? "");
  });

  test("says it in German", async () => {
    await using opened = await open("dead", "de-DE");
    await visible(opened.page, "2 Versuche werden nicht mehr aufbewahrt: Sie sind zu alt.").waitFor();
    await visible(opened.page, "Sie kann nicht erneut gesendet werden").waitFor();
  });
});

describe.skipIf(!hasChromium)("a delivery whose event has lost its body", () => {
  test("says so, also in its attempts, and offers nothing that would send it", async () => {
    await using opened = await open("bodiless");
    const { page } = opened;
    await visible(page, "It cannot be sent again: the event's body is no longer kept").waitFor();
    expect(await page.getByText("The body is no longer kept: it is too old.").count()).toBe(2);
    await expectNothingSends(page);
    await expectAccessible(page);
    await using dead = await open("dead");
    await visible(
      dead.page,
      "Every attempt of its schedule failed, so it was given up. It cannot be",
    ).waitFor();
    await expectNothingSends(dead.page);
    opened.conduct.expectGood(aged?.app.url ?? "");
  });

  /** Its endpoint is active, which is where they would stand. */
  async function expectNothingSends(page: Page): Promise<void> {
    expect(await page.getByRole("button", { name: /Retry now|Replay|Enable/ }).count()).toBe(0);
    expect(
      await page
        .locator(".delivery")
        .getByText(/replay/i)
        .count(),
    ).toBe(0);
  }
});
