// time budget: 300 s
/** The portal's screens of one endpoint: made by the wizard, changed, rotated, tested, deleted. */
import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, hasChromium } from "../kit/browser.ts";
import { BROWSER_MS, openStage } from "../portal/stage.ts";
import { CONSUMER } from "../portal/world.ts";

const ALL = { consumer_id: CONSUMER, manage: true, create: true };

const { world, browser } = await openStage();

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const goOn = (page: Page) => button(page, "Continue").click();
const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true });

/** An endpoint of the consumer's own, to be changed. */
async function make(fields: Record<string, unknown> = {}): Promise<string> {
  const { id = "" } = await world.app.live.create("/v1/endpoints", {
    url: world.receiver.url("mine"),
    consumer_id: CONSUMER,
    ...fields,
  });
  return id;
}

const read = async (id: string) => (await world.app.live.get(`/v1/endpoints/${id}`)).json;

describe.skipIf(!hasChromium)("the wizard", () => {
  test(
    "makes an endpoint: kind, address, events, filter, and a test with its real answer",
    async () => {
      const address = world.receiver.at("wizard", () => new Response("thank you"));
      await using opened = await browser.open(`${await world.link(ALL)}/endpoints`);
      const { page } = opened;
      await page.getByRole("link", { name: "Add endpoint" }).click();
      await heading(page, "Where should events be sent?").waitFor();
      await goOn(page);
      await page.getByLabel("URL").fill("http://10.0.0.1/hook");
      await page.getByLabel(/^Name/).fill("By the wizard");
      await goOn(page);
      await heading(page, "Which events should it get?").waitFor();
      await page.getByLabel("Only some types").check();
      await page.getByPlaceholder("Search types").fill("paid");
      await page.getByRole("checkbox", { name: /^invoice\.paid/ }).check();
      await expectAccessible(page);
      await goOn(page);
      await page.getByLabel(/^Filter/).fill('{ "data": { "total": { "$gte": 100 } } }');
      await page.getByText(/of the last \d+ events match/).waitFor();
      await expectAccessible(page);
      await button(page, "Create endpoint").click();
      // The address was refused: the error stands at its field, and what was entered is still there.
      await page.getByRole("alert").getByText("public").waitFor();
      expect(await page.getByLabel("URL").getAttribute("aria-invalid")).toBe("true");
      expect(await page.getByLabel(/^Name/).inputValue()).toBe("By the wizard");
      await page.getByLabel("URL").fill(address);
      await goOn(page);
      await goOn(page);
      await button(page, "Create endpoint").click();
      await heading(page, "The endpoint is there").waitFor();
      await page.getByText(/^whsec_/).waitFor();
      await page.getByLabel("Event type").selectOption("invoice.paid");
      await button(page, "Send test event").click();
      await page.getByText("It arrived.").waitFor();
      await page.getByText("thank you").waitFor();
      await expectAccessible(page);
      await page.getByRole("link", { name: "Open the endpoint" }).click();
      await heading(page, "By the wizard").waitFor();
      const id = page.url().split("/").at(-1) ?? "";
      expect(await read(id)).toMatchObject({
        consumer_id: CONSUMER,
        event_types: ["invoice.paid"],
        filter: { data: { total: { $gte: 100 } } },
      });
      opened.conduct.expectGood(world.app.url, /status of 422/);
    },
    BROWSER_MS,
  );

  test("makes its form from the kind's fields, secrets hidden, at phone width too", async () => {
    await using opened = await browser.open(`${await world.link(ALL)}/endpoints/new`, {
      width: 320,
      isPhone: true,
    });
    const { page } = opened;
    await page.getByLabel("Amazon SQS").check();
    await goOn(page);
    await page.getByLabel("Queue URL").waitFor();
    expect(await page.getByLabel("Secret access key").getAttribute("type")).toBe("password");
    await page.getByText("More settings").click();
    await page.getByLabel(/^Session token/).waitFor();
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
  });

  test("asks before it is left half-way, and stays where one says no", async () => {
    await using opened = await browser.open(`${await world.link(ALL)}/endpoints/new`);
    const { page } = opened;
    await goOn(page);
    await page.getByLabel("URL").fill("https://example.com/");
    await page.getByRole("link", { name: "Overview" }).click();
    await heading(page, "Leave without saving?").waitFor();
    await button(page, "Cancel").click();
    expect(await page.getByLabel("URL").inputValue()).toBe("https://example.com/");
    await page.getByRole("link", { name: "Overview" }).click();
    await button(page, "Leave").click();
    await heading(page, "Overview").waitFor();
  });

  test("shows who may create but not manage the secret once, and no test", async () => {
    const address = world.receiver.at("creates", () => new Response());
    await using opened = await browser.open(
      `${await world.link({ consumer_id: CONSUMER, create: true })}/endpoints/new`,
    );
    const { page } = opened;
    await goOn(page);
    await page.getByLabel("URL").fill(address);
    await goOn(page);
    await goOn(page);
    await button(page, "Create endpoint").click();
    await heading(page, "The endpoint is there").waitFor();
    expect(await page.getByText("whsec_").count()).toBe(1);
    await page.getByText("It is shown now, and not again").waitFor();
    await page.getByRole("button", { name: /^Copy/ }).first().click();
    expect(await button(page, "Send test event").count()).toBe(0);
    await page.reload();
    expect(await page.getByText("whsec_").count()).toBe(0);
  });
});

describe.skipIf(!hasChromium)("settings", () => {
  test(
    "are saved, a credential is asked for again where the address changes, and what is wrong says so at its field",
    async () => {
      const id = await make({ description: "Before", headers: { authorization: "Bearer 1", "x-a": "1" } });
      await using opened = await browser.open(`${await world.link(ALL)}/endpoints/${id}/settings`);
      const { page } = opened;
      await page.getByLabel(/^Name/).fill("After");
      await page.getByLabel("URL").fill("ftp://example.com/");
      await button(page, "Save").click();
      await page.getByRole("alert").getByText("http").waitFor();
      expect(await read(id)).toMatchObject({ description: "Before" });
      // A header is another request too.
      await page.getByLabel("Value of x-a").fill("2");
      await page.getByText("The destination changes").waitFor();
      await page.getByLabel("URL").fill(world.receiver.url("moved"));
      await page.getByText("The destination changes").waitFor();
      await page.getByLabel("Value of authorization").fill("Bearer 2");
      await button(page, "Save").click();
      await page.getByText("Saved. It holds from the next attempt on.").waitFor();
      expect(await read(id)).toMatchObject({
        description: "After",
        url: world.receiver.url("moved"),
        headers: { authorization: "***", "x-a": "2" },
      });
      await world.app.live.post(`/v1/endpoints/${id}/test`);
      const [sent] = await world.receiver.arrived("moved");
      expect(sent?.headers["authorization"]).toBe("Bearer 2");
      // Nothing of the destination changes: what is stored stays.
      await page.getByLabel(/^Name/).fill("Later");
      await button(page, "Save").click();
      await world.app.until(async () => (await read(id))["description"] === "Later");
      await world.app.live.post(`/v1/endpoints/${id}/test`);
      const [, again] = await world.receiver.arrived("moved", 2);
      expect(again?.headers["authorization"]).toBe("Bearer 2");
    },
    BROWSER_MS,
  );

  test(
    "that lead to another destination ask for credentials and headers again, in both languages, and send none that is stored",
    async () => {
      const id = await make({
        url: undefined,
        kind: "rabbitmq",
        config: {
          url: "http://127.0.0.1:15672",
          vhost: "/",
          exchange: "amq.topic",
          username: "u",
          password: "stored",
        },
        headers: { "x-api-key": "stored", "x-a": "1" },
      });
      await using opened = await browser.open(`${await world.link(ALL)}/endpoints/${id}/settings`);
      const { page } = opened;
      const [password, header] = [page.getByLabel("Password"), page.getByLabel("Value of x-api-key")];
      const asked = page.getByText("The destination changes");
      expect([await asked.count(), await header.inputValue()]).toEqual([0, "***"]);
      // Also what is done at the same host: another exchange.
      await page.getByLabel("Exchange").fill("amq.fanout");
      await asked.waitFor();
      await page.getByLabel("Exchange").fill("amq.topic");
      await asked.waitFor({ state: "detached" });
      await page.getByLabel("Management URL").fill("http://127.0.0.9:15672");
      await asked.waitFor();
      expect([await header.inputValue(), await header.getAttribute("placeholder")]).toEqual([
        "",
        "Enter it again",
      ]);
      expect(await password.getAttribute("placeholder")).toBe("Enter it again");
      await expectAccessible(page);
      await button(page, "Save").click();
      expect(await page.locator("input:invalid").count()).toBe(2);
      expect(await read(id)).toMatchObject({ config: { url: "http://127.0.0.1:15672" } });
      // One that is back on its host keeps what it has.
      await page.getByLabel("Management URL").fill("http://127.0.0.1:15672");
      expect([await asked.count(), await header.inputValue()]).toEqual([0, "***"]);
      await page.getByLabel("Management URL").fill("http://127.0.0.9:15672");
      await password.fill("of anna");
      await header.fill("Bearer of anna");
      await button(page, "Save").click();
      await page.getByText("Saved. It holds from the next attempt on.").waitFor();
      await asked.waitFor({ state: "detached" });
      expect(await read(id)).toMatchObject({
        config: { url: "http://127.0.0.9:15672", password: "***" },
        headers: { "x-api-key": "***", "x-a": "1" },
      });
      await using german = await browser.open(`${await world.link(ALL)}/endpoints/${id}/settings`, {
        locale: "de-DE",
      });
      await german.page.getByLabel("Management-URL").fill("http://127.0.0.8:15672");
      await german.page.getByText("Das Ziel ändert sich").waitFor();
      opened.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );

  test("of who only reads are facts, without a form", async () => {
    const id = await make();
    await using opened = await browser.open(`${await world.link()}/endpoints/${id}/settings`);
    await opened.page.getByText("How it is sent").waitFor();
    expect(await opened.page.locator("main form, main input:not([type=search]), main textarea").count()).toBe(
      0,
    );
    expect(await opened.page.getByRole("link", { name: "Secret" }).count()).toBe(0);
  });

  test("delete asks first, and leads back to the list", async () => {
    const id = await make({ description: "To be deleted" });
    await using opened = await browser.open(`${await world.link(ALL)}/endpoints/${id}/settings`);
    const { page } = opened;
    await button(page, "Delete endpoint").click();
    await page.getByRole("dialog").getByText("Delete To be deleted?").waitFor();
    await expectAccessible(page);
    await button(page, "Cancel").click();
    expect((await world.app.live.get(`/v1/endpoints/${id}`)).status).toBe(200);
    await button(page, "Delete endpoint").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete endpoint" }).click();
    await page.getByText("The endpoint is deleted.").waitFor();
    expect(new URL(page.url()).hash).toBe("#/endpoints");
    expect((await world.app.live.get(`/v1/endpoints/${id}`)).status).toBe(404);
  });
});

describe.skipIf(!hasChromium)("the secret", () => {
  test("is shown when it is asked for, and rotated with an overlap that is counted down", async () => {
    const id = await make();
    await using opened = await browser.open(`${await world.link(ALL)}/endpoints/${id}/secret`);
    const { page } = opened;
    await button(page, "Reveal secret").waitFor();
    expect(await page.getByText(/^whsec_/).count()).toBe(0);
    await button(page, "Reveal secret").click();
    const shown = page.getByText(/^whsec_/);
    const before = await shown.textContent();
    await button(page, "Rotate secret").click();
    await page.getByRole("dialog").getByText("beside it for 1 day").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
    await page.getByText("The secret is rotated.").waitFor();
    await page.getByText(/23 h 59 min/).waitFor();
    const { json } = await world.app.live.get(`/v1/endpoints/${id}/secret`);
    expect(await shown.textContent()).toBe(String(json["secret"]));
    expect(json["secret"]).not.toBe(before);
    await expectAccessible(page);
    await button(page, "Hide").click();
    expect(await shown.count()).toBe(0);
  });
});

describe.skipIf(!hasChromium)("a test event", () => {
  test("that fails says why in words, with what was answered", async () => {
    await using opened = await browser.open(
      `${await world.link(ALL)}/endpoints/${world.endpoints.fails}/test`,
    );
    const { page } = opened;
    await button(page, "Send test event").click();
    await page.getByText("127.0.0.1 answered 500: it failed on its side.").last().waitFor();
    await page.getByText("database is down").waitFor();
    await expectAccessible(page);
  });
});
