import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { judge, type Verdict } from "../../src/client/verdict.ts";
import {
  makePrivateKey,
  makeSecret,
  publicKeyOf,
  readPrivateKey,
  signatureHeader,
} from "../../src/core/signing.ts";

const SECRET = makeSecret();
const PRIVATE = makePrivateKey();
const ed25519 = readPrivateKey(PRIVATE);
const PUBLIC = ed25519 === null ? "" : publicKeyOf(ed25519);
const AT = 1_795_165_200;
const BODY = '{"type":"order.paid","data":{"n":1}}';

/** Signed by the published library, and by `v1a` beside it. */
function captured(changes: Record<string, string> = {}, body = BODY) {
  const v1 = new Webhook(SECRET).sign("msg_1", new Date(AT * 1000), BODY);
  const v1a = signatureHeader([{ hmac: new Uint8Array(), ed25519 }], ["v1a"], "msg_1", AT, Buffer.from(BODY));
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(AT),
    "webhook-signature": `${v1} ${v1a}`,
  };
  return { headers: new Map(Object.entries({ ...headers, ...changes })), body: Buffer.from(body) };
}

const terms = { secret: SECRET, nowMs: AT * 1000, toleranceSeconds: 300 };

test.each([SECRET, PUBLIC, PRIVATE])("a genuine request is valid by %s", (secret) => {
  expect(judge(captured(), { ...terms, secret }).verdict).toBe("valid");
});

test.each<[string, ReturnType<typeof captured>, Verdict, string]>([
  ["without an id", captured({ "webhook-id": "" }), "no_header", "no webhook-id"],
  ["with a dot in its id", captured({ "webhook-id": "msg_1.2" }), "no_header", "has a dot"],
  ["with a time that is none", captured({ "webhook-timestamp": "0x1" }), "no_header", "no number of seconds"],
  ["with another id", captured({ "webhook-id": "msg_2" }), "wrong_signature", "is another one"],
  [
    "with another time",
    captured({ "webhook-timestamp": String(AT + 1) }),
    "wrong_signature",
    "header was changed",
  ],
  ["with another body", captured({}, "{}"), "wrong_signature", "body or a header"],
  ["with a line end", captured({}, `${BODY}\n`), "wrong_signature", "a line end was added"],
  [
    "printed anew",
    captured({}, JSON.stringify(JSON.parse(BODY), null, 2)),
    "wrong_signature",
    "printed anew",
  ],
  ["signed by nothing", captured({ "webhook-signature": "v1,AAAA v2,x" }), "wrong_signature", "No v1"],
])("a request %s is not valid by either key", (_what, request, verdict, detail) => {
  for (const secret of [SECRET, PUBLIC]) {
    const judgement = judge(request, { ...terms, secret });
    expect(judgement.verdict).toBe(verdict);
    if (secret === SECRET) expect(judgement.detail).toContain(detail);
  }
});

test("one without a signature of the secret's version says so", () => {
  const [v1 = "", v1a = ""] = captured().headers.get("webhook-signature")?.split(" ") ?? [];
  const only = (signature: string) => captured({ "webhook-signature": signature });
  expect(judge(only(v1a), terms).detail).toContain("has no v1, which");
  expect(judge(only(v1), { ...terms, secret: PUBLIC }).detail).toContain("has no v1a, which");
});

test.each<[number, Verdict]>([
  [300, "valid"],
  [301, "too_old"],
  [-300, "valid"],
  [-301, "too_new"],
])("%d s after it was signed it is %s", (seconds, verdict) => {
  expect(judge(captured(), { ...terms, nowMs: (AT + seconds) * 1000 }).verdict).toBe(verdict);
});

test.each(["", "whsec_", "whsec_AAAA", SECRET.slice(6), `${SECRET}=`, "whpk_AAAA", "whsk_x"])(
  "the secret %p is malformed",
  (secret) => expect(judge(captured(), { ...terms, secret }).verdict).toBe("malformed_secret"),
);
