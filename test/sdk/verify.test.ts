import { expect, spyOn, test } from "bun:test";
import { Webhook as Published } from "standardwebhooks";
import { Webhook, WebhookError } from "../../sdk/typescript/src/verify.ts";
import { makePrivateKey, makeSecret } from "../../src/core/signing.ts";

const SECRET = makeSecret();
const AT = 1_795_165_200;
const BODY = '{"type":"order.paid","data":{"n":12345678901234567890}}';
const HEADERS = {
  "webhook-id": "msg_1",
  "webhook-timestamp": String(AT),
  "webhook-signature": new Published(SECRET).sign("msg_1", new Date(AT * 1000), BODY),
};
const now = () => AT * 1000;

const forms: [string, Parameters<Webhook["verify"]>[0]][] = [
  ["of the Fetch API", new Headers(HEADERS)],
  ["as an object", HEADERS],
  [
    "as an object with lists",
    Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name.toUpperCase(), [value]])),
  ],
];

test.each(forms)("headers %s are read", async (_form, headers) => {
  const { id, sentAt } = await new Webhook(SECRET, { now }).verify(headers, BODY);
  expect([id, sentAt.getTime()]).toEqual(["msg_1", AT * 1000]);
});

test.each<[string, string | Uint8Array | ArrayBuffer]>([
  ["a text", BODY],
  ["bytes", Buffer.from(BODY)],
  ["a buffer", new Uint8Array(Buffer.from(BODY)).buffer],
])("a body as %s is read, and its text keeps what JSON.parse rounds", async (_form, body) => {
  const verified = await new Webhook(SECRET, { now }).verify(HEADERS, body);
  expect(verified.text).toBe(BODY);
  expect(verified.json()).toMatchObject({ data: { n: 12345678901234567000 } });
});

test("no body at all is an empty one", async () => {
  const signature = new Published(SECRET).sign("msg_1", new Date(AT * 1000), "");
  const headers = { ...HEADERS, "webhook-signature": signature };
  expect((await new Webhook(SECRET, { now }).verify(headers, undefined)).text).toBe("");
});

test("the body is signed once for each secret, however many entries there are", async () => {
  const signing = spyOn(crypto.subtle, "sign");
  const entries = Array.from({ length: 330 }, () => `v1,${Buffer.alloc(32).toString("base64")}`).join(" ");
  const verify = (signature: string) =>
    new Webhook([SECRET, makeSecret()], { now }).verify({ ...HEADERS, "webhook-signature": signature }, BODY);
  expect(await verify(entries).catch(({ reason }) => reason)).toBe("wrong_signature");
  expect(signing).toHaveBeenCalledTimes(2);
  expect((await verify(`${entries} ${HEADERS["webhook-signature"]}`)).text).toBe(BODY);
  signing.mockRestore();
});

test("of v1a, eight entries are verified and no more", async () => {
  const verifying = spyOn(crypto.subtle, "verify");
  const key = `whpk_${Buffer.from(makePrivateKey().slice(5), "base64").subarray(32).toString("base64")}`;
  const entries = Array.from({ length: 170 }, () => `v1a,${Buffer.alloc(64).toString("base64")}`).join(" ");
  const request = new Webhook(key, { now }).verify({ ...HEADERS, "webhook-signature": entries }, BODY);
  expect(await request.catch(({ reason }) => reason)).toBe("wrong_signature");
  expect(verifying).toHaveBeenCalledTimes(8);
  verifying.mockRestore();
});

test.each([Number.NaN, -1, Number.POSITIVE_INFINITY])("a tolerance of %p is refused", (toleranceSeconds) => {
  expect(() => new Webhook(SECRET, { toleranceSeconds })).toThrow("toleranceSeconds must be");
});

test("a byte order mark in front of the text stays there, as it is signed", async () => {
  const body = "\ufeff{}";
  const signature = new Published(SECRET).sign("msg_1", new Date(AT * 1000), body);
  const verified = await new Webhook(SECRET, { now }).verify(
    { ...HEADERS, "webhook-signature": signature },
    body,
  );
  expect(verified.text).toBe(body);
});

test("a body that was parsed already is an error that says so", async () => {
  const verifying = new Webhook(SECRET, { now }).verify(HEADERS, JSON.parse(BODY));
  expect(verifying).rejects.toThrow("Give the raw body");
});

test.each<[string, Record<string, string>, number, string]>([
  [
    "without two headers",
    { "webhook-id": "", "webhook-signature": "" },
    0,
    "no webhook-id and no webhook-sig",
  ],
  ["with a dot in its id", { "webhook-id": "msg_1.2" }, 0, "has a dot"],
  ["with a time that is none", { "webhook-timestamp": "soon" }, 0, "no number of seconds"],
  ["of another version", { "webhook-signature": "v2,AAAA" }, 0, "no v1, which the secret verifies"],
  ["with an id beyond ASCII", { "webhook-id": "msg_1\u00ff" }, 0, "body or a header was changed"],
  ["with an id that is no text", { "webhook-id": "msg_1\udcff" }, 0, "body or a header was changed"],
  ["with a signature that is no text", { "webhook-signature": "v1,\udcff" }, 0, "a header was changed"],
  ["with another id", { "webhook-id": "msg_2" }, 0, "body or a header was changed"],
  ["that is old", {}, 61, "It is 61 s old, and 60 s are allowed"],
  ["of the future", {}, -61, "It is 61 s in the future, and 60 s are allowed"],
])("a request %s is refused, and why is said", async (_what, changes, laterSeconds, message) => {
  const settings = { toleranceSeconds: 60, now: () => (AT + laterSeconds) * 1000 };
  const error = await new Webhook(SECRET, settings).verify({ ...HEADERS, ...changes }, BODY).catch(Object);
  expect(error).toBeInstanceOf(WebhookError);
  expect(error.message).toContain(message);
});

test.each<[string, string | string[]]>([
  ["none", []],
  ["a private key", makePrivateKey()],
  ["an API key", "sp_live_x"],
])("of secrets that are %s no verifier is made", (_what, secrets) => {
  expect(() => new Webhook(secrets)).toThrow(TypeError);
});
