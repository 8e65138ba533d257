// time budget: 300 s
/**
 * The portal's wizard for a source, its secrets, and requests that were captured, in a real browser against
 * the real service.
 */
import { describe, expect, test } from "bun:test";
import { sign } from "@octokit/webhooks-methods";
import type { Page } from "playwright-core";
import Stripe from "stripe";
import { type CreatedSource, knock, sendToken } from "../http/sources/kit.ts";
import { expectAccessible, expectNoSidewaysScroll, hasChromium, visible } from "../kit/browser.ts";
import { BROWSER_MS, openStage } from "../portal/stage.ts";

const { world, browser } = await openStage();
const stripe = new Stripe("sk_test_none");

const open = (path: string, options = {}) => browser.open(world.console(path), options);
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name });
const sourceOf = async (id: string) => (await world.app.live.get(`/v1/sources/${id}`)).json;
const idOf = (page: Page) => /src_\w+/.exec(page.url())?.[0] ?? "";

function make(provider: string, fields: Record<string, unknown> = {}): Promise<CreatedSource> {
  return world.app.live.create<CreatedSource>("/v1/sources", { provider, name: "Made for it", ...fields });
}

async function signedBy(secret: string, payload: string, timestamp?: number): Promise<string> {
  const at = timestamp === undefined ? {} : { timestamp };
  return stripe.webhooks.generateTestHeaderStringAsync({ payload, secret, ...at });
}

describe.skipIf(!hasChromium)("the wizard", () => {
  test(
    "leads from the provider to a first genuine request, its secret entered on the way",
    async () => {
      await using opened = await open("/sources");
      const { page } = opened;
      await page.getByRole("link", { name: "Add source" }).click();
      await heading(page, "Whose webhooks should come in?").waitFor();
      await button(page, "Continue").click();
      await page.getByRole("alert").getByText("Choose a provider first").waitFor();
      await page.getByPlaceholder("Search 120 providers").fill("strip");
      await page.keyboard.press("Enter");
      await heading(page, "What is it called?").waitFor();
      expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Stripe");
      await visible(page, "Stripe issues the secret").waitFor();
      await page.getByText("More settings").click();
      await page.getByLabel(/^Tolerance in seconds/).fill("100000");
      await expectAccessible(page);
      await button(page, "Create source").click();
      await page.getByRole("alert").getByText("Expected a whole number").waitFor();
      await page.getByLabel(/^Tolerance in seconds/).fill("120");
      await button(page, "Create source").click();
      await heading(page, "Set it up at Stripe").waitFor();
      const address = await page.locator("pre").first().innerText();
      await visible(page, "Stripe Workbench: Webhooks").waitFor();
      await expectAccessible(page);
      await page.getByLabel("Signing secret").fill("whsec_wizard");
      await button(page, "Save").click();
      await visible(page, "It is entered.").waitFor();
      await button(page, "Continue").click();
      await visible(page, "Waiting for a request from Stripe").waitFor();
      await expectAccessible(page);
      const payload = '{"id":"evt_1","type":"invoice.paid"}';
      const path = new URL(address).pathname;
      const send = async (secret: string) =>
        knock(world.app, path, payload, { "stripe-signature": await signedBy(secret, payload) });
      expect((await send("whsec_other")).status).toBe(401);
      await visible(page, "A request came and was refused").waitFor();
      expect((await send("whsec_wizard")).status).toBe(200);
      await visible(page, "It came, and it is genuine").waitFor();
      await visible(page, "stripe.invoice.paid").waitFor();
      await page.getByRole("link", { name: "Open the source" }).click();
      await page.getByRole("heading", { name: "Stripe", level: 1, exact: true }).waitFor();
      expect(await sourceOf(idOf(page))).toMatchObject({
        provider: "stripe",
        status: "active",
        config: { tolerance_seconds: 120 },
      });
      opened.conduct.expectGood(world.app.url, /status of 422/);
    },
    BROWSER_MS,
  );

  test(
    "gives our own secret where the provider takes one, and sees its handshake",
    async () => {
      await using opened = await open("/sources/new");
      const { page } = opened;
      await page.getByRole("radio", { name: "GitHub" }).check();
      await visible(page, "Chosen: GitHub").waitFor();
      await button(page, "Continue").click();
      await visible(page, "takes a secret that you choose").waitFor();
      await page.getByLabel("Name", { exact: true }).fill("By the wizard");
      await button(page, "Create source").click();
      const secret = await page.locator("pre").nth(1).innerText();
      expect(secret).toStartWith("whsec_");
      const path = new URL(await page.locator("pre").first().innerText()).pathname;
      await button(page, "Continue").click();
      await visible(page, "Waiting for a request from GitHub").waitFor();
      const body = '{"zen":"Keep it logically awesome."}';
      const headers = { "x-github-event": "ping", "x-hub-signature-256": await sign(secret, body) };
      expect((await knock(world.app, path, body, headers)).status).toBe(200);
      await visible(page, "The handshake of GitHub came and was answered").waitFor();
    },
    BROWSER_MS,
  );

  test("finds what is in no list: any service, with what its check must be told, at phone width too", async () => {
    await using opened = await open("/sources/new", { width: 320, isPhone: true });
    const { page } = opened;
    await page.getByPlaceholder("Search 120 providers").fill("no such service");
    await visible(page, "This provider is not in the list").waitFor();
    await page.getByLabel("Any service, by HMAC").check();
    await button(page, "Continue").click();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("");
    await page.getByLabel("Name", { exact: true }).fill("Old shop");
    await page.getByLabel("Signature header").fill("x-shop");
    await page.getByLabel("Algorithm").selectOption("sha256");
    await page.getByLabel("Encoding").selectOption("hex");
    await expectNoSidewaysScroll(page);
    // The row of tabs is scrolled to the one that is open.
    const tab = await page.getByRole("link", { name: "Sources" }).boundingBox();
    expect((tab?.x ?? 0) + (tab?.width ?? 0)).toBeLessThanOrEqual(320);
    await button(page, "Create source").click();
    await heading(page, "Set it up at Old shop").waitFor();
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
  });

  test("asks before what was begun is left", async () => {
    await using opened = await open("/sources/new");
    const { page } = opened;
    await page.getByRole("radio", { name: "GitHub" }).check();
    await page.getByRole("link", { name: "Endpoints" }).click();
    await page.getByRole("dialog").getByText("Leave without saving?").waitFor();
    await button(page, "Cancel").click();
    await visible(page, "Chosen: GitHub").waitFor();
  });
});

describe.skipIf(!hasChromium)("secrets", () => {
  test(
    "of our own are rotated: the new one is shown once, and the old one counts down",
    async () => {
      const source = await make("service");
      await using opened = await open(`/sources/${source.id}/secret`);
      const { page } = opened;
      await page.getByLabel("The present secret stays valid for").selectOption("1");
      await button(page, "Rotate secret").click();
      await page.getByRole("dialog").getByText("the present one beside it for 1 hour").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
      await visible(page, "it is shown this once").waitFor();
      const fresh = await page.locator("pre").first().innerText();
      await visible(page, /in (59|60):\d\d/).waitFor();
      expect((await sendToken(world.app, source, {})).status).toBe(200);
      expect((await sendToken(world.app, { ...source, secret: fresh }, {})).status).toBe(200);
      await expectAccessible(page);
      await page.reload();
      expect(await page.content()).not.toContain(fresh);
    },
    BROWSER_MS,
  );

  test("of the provider's are entered in parts, masked from then on, and wrong ones are told at their field", async () => {
    const source = await make("braintree");
    await using opened = await open(`/sources/${source.id}/secret`);
    const { page } = opened;
    await page.getByLabel("Public key").fill("public");
    await page.getByLabel("Private key").fill("private");
    await button(page, "Save").click();
    await page.getByRole("status").getByText("It holds from the next request on").waitFor();
    expect(await sourceOf(source.id)).toMatchObject({
      status: "active",
      credentials: { public_key: "***", private_key: "***" },
    });
    // The page reads the source again first.
    await page.getByLabel("Private key").and(page.getByPlaceholder("Stored; type to replace")).waitFor();
    expect(await page.getByLabel("Private key").inputValue()).toBe("");
    const other = await make("svix", { signing_secret: "whsec_dGhlIG9uZSB0aGF0IGhvbGRzIG5vdw==" });
    await page.goto(world.console(`/sources/${other.id}/secret`));
    await page.getByLabel("Signing secret").fill("no base64");
    await button(page, "Rotate secret").click();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click();
    await page.getByRole("alert").getByText("This is not the secret's form").waitFor();
    expect(await page.getByLabel("Signing secret").getAttribute("aria-invalid")).toBe("true");
  });

  test("that a handshake brought to be copied stand there until they have served", async () => {
    const source = await make("notion");
    const body = '{"verification_token":"secret_notions_own"}';
    expect((await knock(world.app, source.ingest_path, body)).status).toBe(200);
    await using opened = await open(`/sources/${source.id}`);
    await visible(opened.page, "enter it there to finish the set-up").waitFor();
    await visible(opened.page, "secret_notions_own").waitFor();
    await expectAccessible(opened.page);
  });
});

describe.skipIf(!hasChromium)("a captured request", () => {
  const PAYLOAD = '{"id":"evt_1","type":"invoice.paid"}';
  const SECRET = "whsec_captured";
  const SIGNED_AT = Math.floor(Date.UTC(2026, 0, 2, 3, 4, 5) / 1000);

  async function openCheck() {
    const source = await make("stripe", { signing_secret: SECRET });
    const opened = await open(`/sources/${source.id}/check`);
    const paste = async (request: string) => {
      await opened.page.getByLabel("Request", { exact: true }).fill(request);
      await button(opened.page, "Check").click();
    };
    const request = (signature: string, body = PAYLOAD) =>
      `POST ${source.ingest_path} HTTP/1.1\nContent-Type: application/json\nStripe-Signature: ${signature}\n\n${body}`;
    return { source, opened, page: opened.page, paste, request };
  }

  test(
    "is judged as at the door: genuine, forged, without its signature, or no request at all",
    async () => {
      const { opened, page, paste, request, source } = await openCheck();
      await using _ = opened;
      await paste(request(await signedBy(SECRET, PAYLOAD)));
      await visible(page, "This request is genuine.").waitFor();
      await paste(request(await signedBy("whsec_other", PAYLOAD)));
      await visible(page, "The signature does not fit the secret").waitFor();
      await paste(`POST / HTTP/1.1\nHost: x\n\n${PAYLOAD}`);
      await visible(page, "Missing: stripe-signature").waitFor();
      await paste(PAYLOAD);
      await page.getByRole("alert").getByText("Line 1 is no header").waitFor();
      await paste("");
      await page.getByRole("alert").getByText("Paste the headers too").waitFor();
      await expectAccessible(page);
      expect((await sourceOf(source.id))["counters"]).toMatchObject({
        accepted: 0,
        rejected: { bad_signature: 0 },
      });
      opened.conduct.expectGood(world.app.url);
    },
    BROWSER_MS,
  );

  test("is told from what pasting made of it, and from its age", async () => {
    const { opened, page, paste, request } = await openCheck();
    await using _ = opened;
    const signature = await signedBy(SECRET, PAYLOAD);
    await paste(`${request(signature)}\n`);
    await visible(page, "without the line break at its end").waitFor();
    await paste(request(signature, JSON.stringify(JSON.parse(PAYLOAD), null, 2)));
    await visible(page, "in one line").waitFor();
    await paste(request(await signedBy(SECRET, PAYLOAD, SIGNED_AT)));
    await visible(page, "At the door it would be refused for its age").waitFor();
    await paste(request(await signedBy("whsec_other", PAYLOAD, SIGNED_AT)));
    await visible(page, "The signature does not fit the secret").waitFor();
  });

  test("may be pasted as headers and body apart", async () => {
    const { opened, page } = await openCheck();
    await using _ = opened;
    await button(page, "Headers and body").click();
    const headers = JSON.stringify({ "Stripe-Signature": await signedBy(SECRET, PAYLOAD) });
    await page.getByLabel("Headers", { exact: true }).fill(headers);
    await page.getByLabel("Body", { exact: true }).fill(PAYLOAD);
    await button(page, "Check").click();
    await visible(page, "This request is genuine.").waitFor();
  });
});
