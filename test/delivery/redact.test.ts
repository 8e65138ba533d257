/** What a server repeats of the credentials that it was sent is hidden before anything is kept. */
import { limit } from "../../src/core/limits.ts";
import { expect, test } from "bun:test";
import { headerSecrets, hideSecretBytes, hideSecretHeaders, hideSecrets } from "../../src/delivery/redact.ts";
import { startApp } from "../kit/app.ts";
import { serviceAccount } from "../destinations/kinds/google.ts";
import { startReceiver } from "../kit/receiver.ts";

const TOKEN = 'FwoGZXIv"YXdz/EBYa<D2>&';
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test.each([
  ["as text", `x-amz-security-token:${TOKEN}\n`],
  ["in JSON", JSON.stringify({ message: `token ${TOKEN}` })],
  ["in XML", '<m>FwoGZXIv"YXdz/EBYa&lt;D2&gt;&amp;</m>'],
  ["in a URL", `/?token=${encodeURIComponent(TOKEN)}`],
  ["in base64", `{"token":"${Buffer.from(TOKEN).toString("base64")}"}`],
  ["in base64 of addresses", `token=${Buffer.from(TOKEN).toString("base64url")}`],
  ["in hexadecimal digits", `41${Buffer.from(TOKEN).toString("hex")}42`],
  ["byte by byte", `41 ${Buffer.from(TOKEN).toString("hex").match(/../g)?.join(" ")} 42`],
])("a credential %s", (_where, text) => {
  const shown = decode(hideSecretBytes(encode(text), ["short-lived", TOKEN]));
  expect(shown).toContain("***");
  for (const part of ["FwoGZXIv", "RndvR1pYSX", "46 77 6f 47", "46776f47"]) expect(shown).not.toContain(part);
});

test("bytes that are no text survive beside it", () => {
  const body = Buffer.concat([Buffer.from([0xff, 0x00, 0xfe]), Buffer.from(TOKEN), Buffer.from([0x80])]);
  const shown = Buffer.from(hideSecretBytes(body, [TOKEN]));
  expect(shown).toEqual(
    Buffer.concat([Buffer.from([0xff, 0x00, 0xfe]), Buffer.from("***"), Buffer.from([0x80])]),
  );
});

test("a credential beyond ASCII is found in UTF-8, and in Latin-1, in which headers are sent", () => {
  expect(decode(hideSecretBytes(encode("password pässwörd!"), ["pässwörd"]))).toBe("password ***!");
  const echoed = Buffer.from("password pässwörd!", "latin1");
  expect(decode(hideSecretBytes(echoed, ["pässwörd"]))).toBe("password ***!");
  expect(hideSecretHeaders([["x-echo", "pässwörd!"]], ["pässwörd"])).toEqual([["x-echo", "***!"]]);
});

test("what holds none stays the same object; the shortest passwords are words, which servers say too", () => {
  const body = encode("no such key");
  expect(hideSecretBytes(body, [TOKEN])).toBe(body);
  expect(hideSecretBytes(body, [])).toBe(body);
  expect(hideSecrets("no such key", ["key", ""])).toBe("no such key");
});

test("of a header the credential counts, without the scheme before it; what is short is a word", () => {
  const headers: [string, string][] = [
    ["Authorization", "Bearer abcdefghij"],
    ["cookie", "session=0123456789; theme=dark"],
    ["x-plain", "visible to all"],
    ["x-key-format", "json"],
  ];
  expect(headerSecrets(headers)).toEqual(["abcdefghij", "session=0123456789; theme=dark"]);
  const basic = Buffer.from("user:pass:word").toString("base64");
  expect(headerSecrets([["authorization", `basic ${basic}`]])).toEqual([
    basic,
    "user:pass:word",
    "pass:word",
  ]);
});

const PASSWORD = "correct-horse-battery";
const BASIC = Buffer.from(`u:${PASSWORD}`).toString("base64");
const API_KEY = "k3y-of-this-endpoint";
const KAFKA = { topic: "t", username: "u", password: PASSWORD };

test("an attempt does not show what a receiver has read in HTTP Basic", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const url = receiver.at("basic", ({ headers: { authorization = "" } }) => {
    const [, encoded = ""] = authorization.split(" ");
    const read = Buffer.from(encoded, "base64").toString();
    const [, password] = read.split(":");
    return new Response(`You are ${read}, password ${password}.`, { status: 500 });
  });
  const endpoint = { url, headers: { authorization: `Basic ${BASIC}` } };
  const { id } = await app.live.create("/v1/endpoints", endpoint);
  const { json, text } = await app.live.post(`/v1/endpoints/${id}/test`);
  expect(json["response_body"]).toBe("You are ***, password ***.");
  expect(text).not.toContain(PASSWORD);
});

test.each([
  ["http", "", {}, { authorization: `Bearer ${PASSWORD}`, "x-api-key": API_KEY }],
  ["kafka_rest", "/topics/t", KAFKA, { "x-api-key": API_KEY }],
])(
  "an attempt of the kind %s does not show what a receiver repeats, in the head or in the body",
  async (kind, path, fields, headers) => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const url = receiver.at(`echo${path}`, ({ headers: sent }) => {
      const { authorization = "", "x-api-key": key = "" } = sent;
      const answered = { "x-echo": authorization, "x-kept": "as it came" };
      return new Response(`You sent ${authorization} and ${key}.`, { status: 500, headers: answered });
    });
    const config = { url: url.slice(0, url.length - path.length), ...fields };
    const { id } = await app.live.create("/v1/endpoints", { kind, config, headers });
    const { text, json } = await app.live.post(`/v1/endpoints/${id}/test`);
    expect(json as object).toMatchObject({
      status_code: 500,
      response_body: expect.stringMatching(/^You sent \w+ \*\*\* and \*\*\*\.$/),
      response_headers: { "x-echo": expect.stringMatching(/^\w+ \*\*\*$/), "x-kept": "as it came" },
    });
    for (const secret of [PASSWORD, BASIC, API_KEY]) expect(text).not.toContain(secret);
  },
);

test("a secret whose end the kept part of an answer cuts off is hidden too", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const kept = limit("responseKeptBytesMax");
  const url = receiver.at("cut", ({ headers: { authorization = "" } }) => {
    const before = "A".repeat(kept - authorization.length + 1);
    return new Response(`${before}${authorization} and more`, { status: 500 });
  });
  const endpoint = { url, headers: { authorization: `Bearer ${PASSWORD}` } };
  const { id } = await app.live.create("/v1/endpoints", endpoint);
  const { json } = await app.live.post(`/v1/endpoints/${id}/test`);
  expect(String(json["response_body"])).toEndWith("ABearer ***");
});

test("and so is one that the bound of an error's detail cuts off", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const token = receiver.at("token", ({ body }) => {
    const assertion = new URLSearchParams(decode(body)).get("assertion") ?? "";
    const error = `${" ".repeat(limit("errorDetailLengthMax") - 20)}${assertion} and more`;
    return Response.json({ error }, { status: 400 });
  });
  const config = { project_id: "acme-1", topic: "orders", service_account_json: serviceAccount(token) };
  const { id } = await app.live.create("/v1/endpoints", { kind: "gcp_pubsub", config });
  const { json } = await app.live.post(`/v1/endpoints/${id}/test`);
  expect(String(json["error_detail"]).trim()).toBe("***");
});

test("what was made of the credentials is hidden too: Google's assertion, and a signature for one request", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const repeated: string[] = [];
  const repeat = (text: string) => {
    repeated.push(text);
    return Response.json({ error: `not ${text}` }, { status: 400, headers: { "x-echo": text } });
  };
  const token = receiver.at("token", ({ body }) =>
    repeat(new URLSearchParams(decode(body)).get("assertion") ?? ""),
  );
  receiver.at("acc/orders/messages", ({ headers: { authorization = "" } }) =>
    repeat(authorization.replace("SharedKey ", "")),
  );
  const account = `AccountName=acc;AccountKey=${BASIC};QueueEndpoint=${receiver.url("acc")}`;
  for (const [kind, config] of [
    ["gcp_pubsub", { project_id: "acme-1", topic: "orders", service_account_json: serviceAccount(token) }],
    [
      "azure_storage_queue",
      { connection_string: `DefaultEndpointsProtocol=http;${account}`, queue: "orders" },
    ],
  ] as const) {
    const { id } = await app.live.create("/v1/endpoints", { kind, config });
    const { text, json } = await app.live.post(`/v1/endpoints/${id}/test`);
    expect([kind, json["response_body"], json["response_headers"]]).toMatchObject([
      kind,
      JSON.stringify({ error: "not ***" }),
      { "x-echo": "***" },
    ]);
    expect(text).not.toContain(repeated.at(-1) as string);
  }
  expect(repeated.map((text) => text.length > 20)).toEqual([true, true]);
});
