// time budget: 300 s
/**
 * The portal's catalogue of event types and its page on verifying, in a real browser against the
 * real service.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { hasChromium, visible } from "../kit/browser.ts";
import { BROWSER_MS, openStage } from "../portal/stage.ts";
import { CONSUMER, HOSTILE } from "../portal/world.ts";

const ALL = { consumer_id: CONSUMER, manage: true, create: true };
/** In the repository, so that the code of the page finds its library. */
const folder = join(import.meta.dir, `../../.test/snippets-${process.pid}`);

const { world, browser } = await openStage();
mkdirSync(folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = async (path: string, grants: object = ALL) =>
  browser.open(`${await world.link({ ...grants })}${path}`);

describe.skipIf(!hasChromium)("the catalogue", () => {
  test("is searched and walked by keys, and shows a type's fields as a table and as JSON", async () => {
    await using opened = await open("/event-types");
    const { page } = opened;
    await visible(page, "Somebody signed up.").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("paid");
    await visible(page, "Somebody signed up.").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "invoice.paid", level: 1 }).waitFor();
    await page.getByRole("row", { name: /customer\.email required string/ }).waitFor();
    await page.getByRole("button", { name: "JSON Schema" }).click();
    await visible(page, '"Of the smallest unit, such as cents."').waitFor();
    await page.getByRole("link", { name: "Ledger" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Event types", level: 1 }).waitFor();
    opened.conduct.expectGood(world.app.url);
  });

  test("sends a type's example to an endpoint, and says what came of it", async () => {
    await using opened = await open("/event-types/invoice.paid");
    const { page } = opened;
    await page.getByLabel("Endpoint").selectOption({ label: "Ledger" });
    await page.getByRole("button", { name: "Send example" }).click();
    await visible(page, /^It answered 204 after/).waitFor();
    const last = world.receiver.requests("works").at(-1);
    expect(JSON.parse(String(last?.body))).toMatchObject({ type: "invoice.paid", data: { id: "in_42" } });
    await page.getByLabel("Endpoint").selectOption({ label: "Data warehouse" });
    await page.getByRole("button", { name: "Send example" }).click();
    await visible(page, "it failed on its side").waitFor();
    await visible(page, "database is down").waitFor();
  });

  test("offers no sending to whoever only reads", async () => {
    await using opened = await open("/event-types/invoice.paid", { consumer_id: CONSUMER });
    await opened.page.getByRole("heading", { name: "Example" }).waitFor();
    expect(await opened.page.getByRole("button", { name: "Send example" }).count()).toBe(0);
  });

  test("shows what strangers wrote as text", async () => {
    const schema = { properties: { [HOSTILE]: { type: "string", description: HOSTILE, default: HOSTILE } } };
    const fields = { name: "hostile.type", group: HOSTILE, description: HOSTILE, schema, example: {} };
    await world.app.live.create("/v1/event-types", fields);
    await using opened = await open("/event-types/hostile.type");
    let hasRun = false;
    opened.page.on("dialog", () => void (hasRun = true));
    await opened.page.getByRole("rowheader", { name: HOSTILE }).waitFor();
    expect(await opened.page.locator("main img, main script").count()).toBe(0);
    expect(hasRun).toBe(false);
    opened.conduct.expectGood(world.app.url);
    await world.app.live.delete("/v1/event-types/hostile.type");
  });
});

async function codeOf(page: Page, name: string): Promise<string> {
  await page.getByRole("button", { name, exact: true }).click();
  const code = page.locator("pre[aria-label]").and(page.getByLabel(name, { exact: true }));
  return code.innerText();
}

/** A port that nothing listens on. */
async function freePort(): Promise<number> {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port = 0 } = server;
  await server.stop(true);
  return port;
}

describe.skipIf(!hasChromium)("the code of Verify", () => {
  test(
    "in JavaScript is a receiver that takes what is genuine, and refuses what is not",
    async () => {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}/hooks`;
      const { live } = world.app;
      const { id = "", secret = "" } = await live.create("/v1/endpoints", { url, consumer_id: CONSUMER });
      await using opened = await open(`/verify?endpoint=${id}`);
      const code = await codeOf(opened.page, "JavaScript");
      expect(code).toContain(`Receives ${url}`);
      expect(code).not.toContain("whsec_");
      await Bun.write(join(folder, "receiver.mjs"), code);
      const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) };
      const child = Bun.spawn([process.execPath, join(folder, "receiver.mjs")], { env, stdout: "pipe" });
      try {
        // Unsigned, so refused: as soon as it listens.
        await world.app.until(async () => {
          const status = await fetch(url, { method: "POST", body: "{}" }).then(
            (response) => response.status,
            () => null,
          );
          return status === 401 ? status : null;
        });
        const { json } = await live.post(`/v1/endpoints/${id}/test`, { type: "invoice.paid" });
        expect([json["outcome"], json["status_code"]]).toEqual(["delivered", 204]);
        const headers = json["request_headers"] as Record<string, string>;
        const forged = await fetch(url, { method: "POST", headers, body: '{"type":"invoice.paid"}' });
        expect(forged.status).toBe(401);
      } finally {
        child.kill();
        await child.exited;
        await live.delete(`/v1/endpoints/${id}`);
      }
    },
    BROWSER_MS,
  );

  test("without a library has twenty lines that do the same", async () => {
    const { works } = world.endpoints;
    await using opened = await open(`/verify?endpoint=${works}`);
    const code = await codeOf(opened.page, "JavaScript without a library");
    expect(code.trim().split("\n").length).toBeLessThanOrEqual(22);
    await Bun.write(join(folder, "plain.mjs"), code);
    const { json } = await world.app.live.get(`/v1/endpoints/${works}/secret`);
    const before = world.receiver.requests("works").length;
    await world.app.live.post(`/v1/endpoints/${works}/test`, { type: "invoice.paid" });
    const sent = world.receiver.requests("works")[before];
    const input = JSON.stringify({ body: String(sent?.body), headers: sent?.headers });
    const script = `const { readDelivery } = await import(process.argv[1]);
      const { body, headers } = ${input};
      console.log(JSON.stringify([readDelivery(body, headers)?.type, readDelivery(body + " ", headers), readDelivery(body, {})]));`;
    const env = { ...process.env, WEBHOOK_SECRET: String(json["secret"]) };
    const child = Bun.spawn([process.execPath, "-e", script, join(folder, "plain.mjs")], {
      env,
      stdout: "pipe",
    });
    expect(JSON.parse(await child.stdout.text())).toEqual(["invoice.paid", null, null]);
  });

  test("is there in each language, with the reader's endpoint", async () => {
    await using opened = await open(`/verify?endpoint=${world.endpoints.works}`);
    for (const name of ["JavaScript", "Python", "Go", "Rust", "Java", "PHP", "PHP without a library"]) {
      expect(await codeOf(opened.page, name)).toContain(`Receives ${world.receiver.url("works")}`);
    }
    opened.conduct.expectGood(world.app.url);
  });
});

describe.skipIf(!hasChromium)("the checker", () => {
  test("judges the last delivery, names a changed body, and sends nothing", async () => {
    const { works } = world.endpoints;
    await world.app.live.post(`/v1/endpoints/${works}/test`, { type: "invoice.paid" });
    await using opened = await open(`/verify?endpoint=${works}`);
    const { page } = opened;
    await page.getByRole("button", { name: "Take the last delivery" }).click();
    await page.getByRole("button", { name: "Take this endpoint's secret" }).click();
    const secret = page.locator("input[type=password]");
    await world.app.until(async () => (await secret.inputValue()).startsWith("whsec_"));
    const bodies: (string | null)[] = [];
    page.on("request", (request) => void bodies.push(request.postData()));
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await visible(page, "This delivery is genuine.").waitFor();
    const body = page.getByRole("textbox", { name: "Body" });
    await body.fill(`${await body.inputValue()}\n`);
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await visible(page, "with other line breaks").waitFor();
    await body.fill('{"type":"invoice.paid"}');
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await visible(page, "The signature does not fit.").waitFor();
    expect(bodies.filter((text) => text !== null)).toEqual([]);
    opened.conduct.expectGood(world.app.url);
  });

  test("offers the secret to nobody who only reads, and still checks what is pasted", async () => {
    await using opened = await open("/verify", { consumer_id: CONSUMER });
    const { page } = opened;
    await page.getByRole("button", { name: "Take the last delivery" }).waitFor();
    expect(await page.getByRole("button", { name: "Take this endpoint's secret" }).count()).toBe(0);
    await page.getByRole("textbox", { name: "Headers" }).fill(`webhook-id: ${HOSTILE}`);
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await visible(page, "The header webhook-timestamp is missing.").waitFor();
  });
});
