/** What a server repeats of the credentials that it was sent is hidden before anything is kept. */
import { limit } from "../../../src/core/limits.ts";
import { expect, test } from "bun:test";
import {
  headerSecrets,
  hideSecretBytes,
  hideSecretHeaders,
  hideSecrets,
} from "../../../src/delivery/redaction/redact.ts";
import { startApp } from "../../kit/app.ts";
import { serviceAccount } from "../../destinations/kinds/google.ts";
import { startReceiver } from "../../kit/receiver.ts";

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
  ["as a fingerprint", `41:${Buffer.from(TOKEN).toString("hex").toUpperCase().match(/../g)?.join(":")}`],
])("a credential %s", (_where, text) => {
  const shown = decode(hideSecretBytes(encode(text), ["short-lived", TOKEN]));
  expect(shown).toContain("***");
  expect(shown).not.toMatch(/FwoGZXIv|RndvR1pYSX|46[ :]?77[ :]?6f[ :]?47/i);
});

/** What servers make of a text before they repeat it: each is one character, or the same again. */
const ESCAPES: readonly ((letter: string) => string)[] = [
  (letter) => letter,
  (letter) => JSON.stringify(letter).slice(1, -1),
  (letter) => (/[A-Za-z0-9]/.test(letter) ? letter : `\\${letter}`),
  (letter) => `\\u${hexOf(letter).padStart(4, "0")}`,
  (letter) => `\\u${hexOf(letter).padStart(4, "0").toUpperCase()}`,
  (letter) => `\\x${hexOf(letter)}`,
  (letter) => `%${hexOf(letter)}`,
  (letter) => `%${hexOf(letter).toUpperCase()}`,
  (letter) => (letter === "/" ? letter : encodeURIComponent(letter)),
  (letter) => new URLSearchParams({ a: letter }).toString().slice(2),
  (letter) => `&#${letter.charCodeAt(0)};`,
  (letter) => `&#x${hexOf(letter)};`,
  (letter) => `&#X${hexOf(letter).toUpperCase()};`,
  (letter) => Bun.escapeHTML(letter),
];
const hexOf = (letter: string) => letter.charCodeAt(0).toString(16).padStart(2, "0");
const WHOLE: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => JSON.stringify({ said: text }),
  (text) => JSON.stringify({ said: JSON.stringify({ said: text }) }),
  (text) => encodeURIComponent(text),
  (text) => Bun.escapeHTML(text),
];
const BINARY: readonly ((text: string) => string)[] = [
  (text) => Buffer.from(text).toString("base64"),
  (text) => Buffer.from(text).toString("base64url"),
  (text) => Buffer.from(text).toString("hex"),
  (text) => Buffer.from(text).toString("hex").toUpperCase(),
];

const KEY = "k9Qz/Rt+Wm4&Lp==77";
const escaped = (escape: (letter: string) => string) => [...KEY].map((letter) => escape(letter)).join("");

test.each([
  ...ESCAPES.map(escaped),
  KEY.replaceAll("/", "\\/"),
  KEY.replaceAll("+", "\\u002B").replaceAll("&", "\\u0026"),
  KEY.replaceAll("+", "&#43;").replaceAll("&L", "&amp;L"),
  KEY.replaceAll("+", "%252b").replaceAll("&", "&amp;amp;"),
  JSON.stringify(JSON.stringify(KEY)).slice(3, -3),
  Buffer.from(KEY).toString("base64").slice(0, 24),
])("a credential as %s", (spelled) => {
  expect(hideSecrets(`You sent "${spelled}".`, [KEY])).toBe('You sent "***".');
});

test.each(["Bearer ", "Basic u:", "x", "xy", ""])(
  "a credential in base64 after %p, and before more, leaves what stands beside it",
  (before) => {
    for (const after of ["", ".", " and", " more"]) {
      for (const encoding of ["base64", "base64url"] as const) {
        const whole = Buffer.from(before + KEY + after)
          .toString(encoding)
          .replaceAll("=", "");
        const left = whole.slice(0, Math.floor((before.length * 4) / 3));
        const right = whole.slice(Math.ceil(((before + KEY).length * 4) / 3));
        expect(hideSecrets(whole, [KEY])).toBe(`${left}***${right}`);
      }
    }
  },
);

test("one credential within another, beginning it, ending it, or overlapping it, leaves nothing of it", () => {
  for (const secrets of [
    ["abcdef12", "abcdef12.supersecret", "supersecret-end", "or12-abcdef12"],
    ["supersecret-end", "or12-abcdef12", "abcdef12.supersecret", "abcdef12"],
  ]) {
    expect(hideSecrets("key abcdef12.supersecret!", secrets)).toBe("key ***!");
    expect(hideSecrets("key abcdef12.supersecret-end!", secrets)).toBe("key ***!");
    expect(hideSecrets("or12-abcdef12, abcdef12", secrets)).toBe("***, ***");
    expect(hideSecrets("key abcdef12\\u002esupersecret!", secrets)).toBe("key ***!");
  }
});

/** Repeats: a seed gives one sequence. */
function chanceOf(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const LETTERS = "abcXYZ019 +/=&%\\\"'<>;#-_.~:,!?@$*()[]{}|^`\n";

test("of random credentials in random mixes of spellings nothing is left", () => {
  const chance = chanceOf(7);
  const pick = <T>(list: readonly T[]): T => list[chance(list.length)] as T;
  const text = () => Array.from({ length: 8 + chance(20) }, () => pick([...LETTERS])).join("");
  for (let round = 0; round < 400; round++) {
    const key = `${text()}-Secret9-${text()}.`;
    const secrets = [key.slice(0, 6 + chance(8)), key, key.slice(-12)];
    const one = pick(ESCAPES);
    for (const escape of [one, (letter: string) => pick(ESCAPES)(letter)]) {
      const spelled = [...key].map((letter) => escape(letter)).join("");
      for (const whole of WHOLE) {
        const said = whole(`<You sent> "${spelled}" \\u0041`);
        expect([said, hideSecrets(said, secrets)]).toEqual([said, whole('<You sent> "***" \\u0041')]);
      }
    }
    for (const spell of BINARY) {
      const shown = hideSecrets(spell(text() + key + text()), secrets);
      for (const start of [1, 2, 3]) expect(shown).not.toContain(spell("Secret9".slice(start)).slice(0, 6));
    }
  }
});

test("of random credentials in every form of a header nothing is left", () => {
  const chance = chanceOf(11);
  const letters = "abcXYZ019-._~+/";
  for (let round = 0; round < 100; round++) {
    const more = Array.from({ length: 7 + chance(40) }, () => letters[chance(letters.length)]).join("");
    // Words alone before a space are a scheme.
    const part = `7${more}`;
    for (const form of FORMS) {
      const [value, read = part] = form(part);
      const shown = hideSecrets(`got ${read}!`, headerSecrets([["authorization", value]]));
      expect([value, shown]).toEqual([value, "got ***!"]);
    }
  }
});

test("what stands beside a hidden credential stays as it was written", () => {
  const said = JSON.stringify({ said: JSON.stringify({ key: KEY, path: "C:\\new\\%41&amp;", more: "ä\n" }) });
  const written = JSON.stringify(JSON.stringify(KEY)).slice(3, -3);
  expect(hideSecrets(said, [KEY])).toBe(said.replace(written, "***"));
  expect(hideSecrets(`\\n${KEY}%41`, [`n${KEY}%4`])).toBe("\\***1");
});

test("where a text is cut off, the beginning of a credential is hidden in every spelling too", () => {
  for (const escape of ESCAPES) {
    for (const whole of WHOLE.slice(0, 2)) {
      const text = whole(`You sent ${escaped(escape)}`);
      const begin = text.indexOf("sent ") + 5;
      const before = "x".repeat(1000);
      for (let length = begin; length < text.length; length++) {
        const shown = hideSecrets(before + text.slice(0, length), [KEY], true);
        expect([text.slice(0, length), shown]).toEqual([
          text.slice(0, length),
          expect.stringMatching(/^x+\*\*\*$/),
        ]);
      }
    }
  }
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
  expect(headerSecrets(headers)).toEqual(["abcdefghij", "session=0123456789; theme=dark", "0123456789"]);
  const basic = Buffer.from("user:pass:word").toString("base64");
  expect(headerSecrets([["authorization", `basic ${basic}`]])).toEqual([
    basic,
    "user:pass:word",
    "pass:word",
  ]);
});

test("of several parameters the value of each counts, in quotes or plain", () => {
  const digest = 'Digest username="u", response="6629fae49393a05397450978507c4ef1", qop=auth';
  const cookie = 'a=first-secret;b="second secret" ; c=x';
  const signed = "sv=2026-11-01&sig=kT0%2BQ9zW3u4%3D";
  const secrets = headerSecrets([
    ["authorization", digest],
    ["cookie", cookie],
    ["x-api-key", signed],
    ["x-auth-token", "YWJjZGVmZ2hpams9PQ=="],
  ]);
  const values = ["6629fae49393a05397450978507c4ef1", "first-secret", "second secret"];
  for (const value of values) expect(hideSecrets(`got ${value}.`, secrets)).toBe("got ***.");
  expect(hideSecrets(`got kT0%2BQ9zW3u4%3D, kT0+Q9zW3u4=`, secrets)).toBe("got ***, ***");
  expect(hideSecrets("the user has auth, and x", secrets)).toBe("the user has auth, and x");
});

const PART = "dt0c01.ABCDEF/0123+4567_89~xyz";
const b64 = (text: string) => Buffer.from(text).toString("base64");

/** What a header may hold around a credential; what its receiver reads in it where that is more. */
const FORMS: ((part: string) => [value: string, read?: string])[] = [
  (part) => [`${part} `],
  (part) => [` ${part}`],
  (part) => [`  Bearer ${part}  `],
  (part) => [`Bearer  ${part}`],
  (part) => [`\u00a0${part}\u00a0`],
  (part) => [`Api-Token ${part}`],
  (part) => [`Klaviyo-API-Key ${part}`],
  (part) => [`Zoho-oauthtoken ${part}`],
  (part) => [`OAuth2 ${part}`],
  (part) => [`AWS4-HMAC-SHA256 ${part}`],
  (part) => [`a.b_c!1 ${part}`],
  (part) => [`2fa ${part}`],
  (part) => [`Bearer ${part}, x`],
  (part) => [`Bearer first-credential,${part}`],
  (part) => [`${part} second-credential`],
  (part) => [`second-credential; ${part}`],
  (part) => [`Token token=${part}, x=y`],
  (part) => [`key="${part}"`],
  (part) => [`Bearer "${part}"`],
  (part) => [`key = '${part}'`],
  (part) => [`sid=${part}; theme=dark`],
  (part) => [`sid=${part}==; theme=dark`, `${part}==`],
  (part) => [`theme=dark; sid=${part} `],
  (part) => [`user:${part}`],
  (part) => [`${part}:user`],
  (part) => [`hmac user:${part}:1720000000`],
  (part) => [`17|${part}`],
  (part) => [`Basic ${b64(`user:${part}`)} `],
  (part) => [`Basic ${b64(`${part}:`)}`],
  (part) => [`Basic ${b64(`${part}:x`)}`],
  (part) => [`Basic ${b64(`user:a:${part}`)}`, `a:${part}`],
  (part) => [`ApiKey ${b64(`id:${part}`)}`],
  (part) => [b64(`id:${part}`)],
  (part) => [`{"key":"${part}"}`],
  (part) => [`<${part}>`],
];

test.each(FORMS.map((form) => form(PART)))(
  "of a header with %p the part that a receiver repeats alone is hidden",
  (value, read = PART) => {
    const secrets = headerSecrets([["x-auth", value]]);
    for (const text of [read, value.trim(), b64(read), encodeURIComponent(read)])
      expect([text, hideSecrets(`got ${text}`, secrets)]).toEqual([
        text,
        expect.not.stringContaining("ABCDEF"),
      ]);
    expect(hideSecrets(`got ${read} of the user`, secrets)).toBe("got *** of the user");
  },
);

test("a word for the scheme and a parameter's name stay, as does what is short", () => {
  const secrets = headerSecrets([["authorization", `Klaviyo-API-Key ${PART}`]]);
  expect(hideSecrets(`Klaviyo-API-Key ${PART}`, secrets)).toBe("Klaviyo-API-Key ***");
  const named = headerSecrets([["authorization", `Signature signature="${PART}", algorithm=none`]]);
  expect(hideSecrets("the signature's algorithm is none", named)).toBe("the signature's algorithm is none");
});

test("of very many parts so many are looked for as a limit says, and the whole", () => {
  const max = limit("headerPartsMax");
  const value = Array.from({ length: 400 }, (_, at) => `part-${1000 + at}`).join(",");
  const secrets = headerSecrets([["x-api-key", value]]);
  expect([secrets[0], secrets.length]).toEqual([value, 1 + max]);
});

test("white space around a stored password is left out where a server does so", () => {
  expect(hideSecrets("password <pass word>", [" pass word "])).toBe("password <***>");
});

test("a password in Latin-1 is read in `Basic` too", () => {
  const basic = Buffer.from("user:pässwörd", "latin1").toString("base64");
  const secrets = headerSecrets([["authorization", `Basic ${basic}`]]);
  expect(hideSecrets("got pässwörd!", secrets)).toBe("got ***!");
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

test("a header is stored without the spaces around it, and what a receiver repeats of it is not shown", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const url = receiver.at("spaces", ({ headers: { "x-api-key": key = "", authorization = "" } }) => {
    return new Response(`<${key}> <${authorization.split(" ").at(-1)}>`, { status: 500 });
  });
  const headers = {
    "x-api-key": ` ${API_KEY} `,
    authorization: `Api-Token ${PASSWORD} `,
    "x-plain": "  a b ",
  };
  const { id } = await app.live.create("/v1/endpoints", { url, headers });
  const { json } = await app.live.post(`/v1/endpoints/${id}/test`);
  expect(json["response_body"]).toBe("<***> <***>");
  const stored = await app.live.get(`/v1/endpoints/${id}`);
  expect(stored.json["headers"]).toEqual({ "x-api-key": "***", authorization: "***", "x-plain": "a b" });
});

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
  expect(String(json["response_body"])).toMatch(/^A+\*\*\*$/);
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
  const secret = `AccountName=acc;AccountKey=${BASIC}`;
  const account = `DefaultEndpointsProtocol=http;${secret};QueueEndpoint=${receiver.url("acc")}`;
  for (const [kind, config] of [
    ["gcp_pubsub", { project_id: "acme-1", topic: "orders", service_account_json: serviceAccount(token) }],
    ["azure_storage_queue", { connection_string: account, queue: "orders" }],
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
