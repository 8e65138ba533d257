/** The checker of the page Verify: each way in which a delivery goes wrong is named. */
import { describe, expect, test } from "bun:test";
import { checkDelivery, type Pasted } from "../../../src/portal/forms/check-delivery.ts";

// The published vectors.
const NOW = 1614265330_000;
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PUBLIC_KEY = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";
const V1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const V1A = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
const BODY = '{"test": 2432232314}';
const HEADERS = [
  "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp: 1614265330",
  `webhook-signature: ${V1} ${V1A}`,
].join("\n");

async function faultsOf(change: Partial<Pasted>): Promise<string[]> {
  const findings = await checkDelivery({ secret: SECRET, headers: HEADERS, body: BODY, now: NOW, ...change });
  return findings.filter(({ isGood }) => !isGood).map(({ key }) => key);
}

describe("a genuine delivery", () => {
  test("is found genuine by its secret, and by its public key", async () => {
    expect(await faultsOf({})).toEqual([]);
    expect(await faultsOf({ secret: PUBLIC_KEY })).toEqual([]);
  });

  test.each([
    ["curl -v", HEADERS.replaceAll(/^/gm, "< ")],
    ["a curl command", HEADERS.replaceAll(/^(.*)$/gm, "  -H '$1' \\")],
    [
      "JSON",
      JSON.stringify({
        "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": 1614265330,
        "webhook-signature": [V1],
      }),
    ],
    ["names in other letters", HEADERS.replaceAll("webhook-", "Webhook-")],
    ["among others", `host: example.com\n${HEADERS}\naccept: */*`],
  ])("is read as it is written by %s", async (_name, headers) => {
    expect(await faultsOf({ headers })).toEqual([]);
  });
});

describe("what is wrong is named", () => {
  const without = (name: string) => HEADERS.replace(new RegExp(`^${name}.*\n?`, "m"), "");
  const timed = (value: string) => HEADERS.replace("timestamp: 1614265330", `timestamp: ${value}`);
  const signed = (value: string) => HEADERS.replace(/signature: .*/, `signature: ${value}`);

  test.each<[string, Partial<Pasted>, string[]]>([
    ["nothing pasted", { headers: "" }, ["no_header", "no_header", "no_header"]],
    ["a header that is missing", { headers: without("webhook-id") }, ["no_header"]],
    ["a header twice", { headers: `${HEADERS}\nwebhook-id: x` }, ["twice"]],
    ["a timestamp of words", { headers: timed("yesterday") }, ["bad_timestamp", "no_match"]],
    ["a timestamp in milliseconds", { headers: timed("1614265330000") }, ["milliseconds", "no_match"]],
    ["a delivery of ten minutes ago", { now: NOW + 600_000 }, ["too_old"]],
    ["a delivery of the future", { now: NOW - 600_000 }, ["too_new"]],
    ["no secret", { secret: " " }, ["no_secret"]],
    ["a secret without its prefix", { secret: SECRET.slice(6) }, ["secret_prefix"]],
    ["a secret cut to no base64", { secret: `${SECRET}…` }, ["secret_base64"]],
    ["a secret cut short", { secret: SECRET.slice(0, -8) }, ["secret_length"]],
    ["a private key", { secret: "whsk_AAAA" }, ["secret_private"]],
    ["a signature that was cut", { headers: signed("g0hM9SsE") }, ["no_entry"]],
    ["no signature for this key", { headers: signed(V1A) }, ["no_version"]],
    ["another's secret", { secret: `whsec_${btoa("0".repeat(24))}` }, ["no_match"]],
    ["another body", { body: BODY.replace("4", "5") }, ["no_match"]],
    ["a line break at the end", { body: `${BODY}\n` }, ["body_line_break"]],
    ["space around it", { body: `  ${BODY} ` }, ["body_trimmed"]],
    ["another's public key", { secret: `whpk_${btoa("0".repeat(32))}` }, ["no_match"]],
  ])("%s", async (_name, change, expected) => {
    expect(await faultsOf(change)).toEqual(expected);
  });

  test("a body that was parsed and written again, laid out or escaped", async () => {
    const key = new Uint8Array(24).fill(7);
    const secret = `whsec_${btoa(String.fromCharCode(...key))}`;
    const sent = '{"b":1.0,"name":"Zoë"}';
    const sign = (body: string) =>
      `v1,${new Bun.CryptoHasher("sha256", key).update(`msg_1.1614265330.${body}`).digest("base64")}`;
    const headers = (body: string) =>
      `webhook-id: msg_1\nwebhook-timestamp: 1614265330\nwebhook-signature: ${sign(body)}`;
    const change = { secret, headers: headers(sent) };
    expect(await faultsOf({ ...change, body: sent })).toEqual([]);
    expect(await faultsOf({ ...change, body: '{\n  "b": 1.0,\n  "name": "Zoë"\n}' })).toEqual([
      "body_laid_out",
    ]);
    expect(
      await faultsOf({ secret, headers: headers('{"name":"Zo\\u00eb"}'), body: '{"name": "Zoë"}' }),
    ).toEqual(["body_ascii"]);
  });
});
