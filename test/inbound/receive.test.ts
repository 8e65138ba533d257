import { describe, expect, spyOn, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { isAnySame, isSame } from "../../src/inbound/digest.ts";
import type { InboundRequest, Reception, SourceMaterial } from "../../src/inbound/provider.ts";
import { provenHash } from "../../src/inbound/facts.ts";
import { findProvider, PROVIDER_ROWS } from "../../src/inbound/providers.ts";
import { NO_KEYS, PLENTY, receiveBy, refuseUnknownSource } from "../../src/inbound/receive.ts";
import { readTimestamp } from "../../src/inbound/window.ts";
import { jsonRequest, materialOf, NOW_MS, requestOf, SOURCE_URL, withHeader } from "./kit.ts";
import { base64Mac, hexMac } from "./recompute.ts";

const TOKEN = "whsec_b3VyIG93biBzZWNyZXQ=";

function receive(key: string, request: InboundRequest, material: SourceMaterial): Promise<Reception> {
  const provider = findProvider(key);
  if (!provider) throw new Error(`There is no provider ${key}.`);
  return provider.receive(request, material, NOW_MS);
}

function service(request: InboundRequest, secrets = [TOKEN]): Promise<Reception> {
  return receive("service", request, materialOf(secrets));
}

describe("service", () => {
  test("takes the token from x-service-token or as a bearer, whichever is right", async () => {
    for (const headers of [
      { "x-service-token": TOKEN },
      { authorization: `Bearer ${TOKEN}` },
      { authorization: `bearer ${TOKEN}` },
      { authorization: `Bearer   ${TOKEN}` },
      { authorization: `Bearer ${TOKEN}`, "x-service-token": "wrong" },
    ]) {
      expect((await service(jsonRequest("{}", headers))).kind).toBe("event");
    }
  });

  test("takes it nowhere else, and says where it was", async () => {
    const inQuery = requestOf({ url: `${SOURCE_URL}?any=${encodeURIComponent(TOKEN)}`, body: "{}" });
    expect(await service(inQuery)).toEqual({ kind: "refused", reason: "token_in_query" });
    const parted = requestOf({
      url: `${SOURCE_URL}?pa&ss=word12`,
      headers: { "x-service-token": "pa&ss=word12" },
      body: "{}",
    });
    expect(await service(parted, ["pa&ss=word12"])).toEqual({ kind: "refused", reason: "token_in_query" });
    // Its last character reads as the sign before a value.
    for (const query of [TOKEN, `a=1&${TOKEN}`, `x${TOKEN}&b=2`]) {
      const bare = requestOf({
        url: `${SOURCE_URL}?${query}`,
        headers: { "x-service-token": TOKEN },
        body: "{}",
      });
      expect([query, await service(bare)]).toEqual([query, { kind: "refused", reason: "token_in_query" }]);
    }
    expect(await service(jsonRequest("{}", { authorization: `Basic ${TOKEN}` }))).toEqual({
      kind: "refused",
      reason: "missing_header",
    });
    expect(await service(jsonRequest("{}", { "x-service-token": "" }))).toEqual({
      kind: "refused",
      reason: "bad_signature",
    });
    expect(await service(jsonRequest(JSON.stringify({ token: TOKEN }), {}))).toEqual({
      kind: "refused",
      reason: "missing_header",
    });
  });

  test("refuses a token in the query string also beside the right header; any other query passes", async () => {
    const knock = (query: string) =>
      service(
        requestOf({ url: `${SOURCE_URL}?${query}`, headers: { "x-service-token": TOKEN }, body: "{}" }),
      );
    const inBoth: Reception = { kind: "refused", reason: "token_in_query" };
    expect(await knock(`token=${encodeURIComponent(TOKEN)}`)).toEqual(inBoth);
    expect(await knock(`a=1&x-service-token=${TOKEN}`)).toEqual(inBoth);
    expect((await knock(`token=another&env=live`)).kind).toBe("event");
  });

  test("reads the query of a request once, and one that is too long never", async () => {
    const reads = async (query: string, token: string, judge = service) => {
      const request = requestOf({ url: `${SOURCE_URL}?${query}`, headers: { "x-service-token": token } });
      const read = spyOn(request.query, Symbol.iterator);
      await judge({ ...request, body: new TextEncoder().encode("{}") });
      return read.mock.calls.length;
    };
    const unknown = (request: InboundRequest) => refuseUnknownSource("src_1", request);
    const long = "a&".repeat(limit("queryPartsMax"));
    expect([await reads("a=1", "wrong"), await reads("a=1", TOKEN)]).toEqual([1, 1]);
    expect([await reads("a=1", "", unknown), await reads(long, "", unknown)]).toEqual([1, 0]);
    expect([await reads(long, "wrong"), await reads(long, TOKEN)]).toEqual([0, 0]);
  });

  test("without an id every request is an event of its own", async () => {
    const reception = await service(jsonRequest("{}", { "x-service-token": TOKEN }));
    expect(reception).toMatchObject({ kind: "event", type: "service.unknown", deliveryId: null, data: "{}" });
  });

  test("the type is type or event of the body, the identity id or event_id", async () => {
    const body = '{"event":"order.created","event_id":7}';
    const reception = await service(jsonRequest(body, { "x-service-token": TOKEN }));
    expect(reception).toMatchObject({
      type: "service.order.created",
      deliveryId: "7",
      dedupSeconds: 2_592_000,
    });
  });

  test("answers 200 with the event's id, and says when it was seen before", async () => {
    const reception = await service(jsonRequest("{}", { "x-service-token": TOKEN }));
    const answer = reception.kind === "event" ? reception.answer : () => null;
    const headers = { "content-type": "application/json" };
    expect(answer("evt_1", false)).toEqual({ status: 200, headers, body: '{"id":"evt_1"}' });
    expect(answer("evt_1", true)).toEqual({ status: 200, headers, body: '{"id":"evt_1","duplicate":true}' });
  });

  test("only POST brings an event", async () => {
    for (const method of ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]) {
      const request = requestOf({ method, headers: { "x-service-token": TOKEN } });
      expect(await service(request)).toEqual({ kind: "refused", reason: "wrong_method" });
    }
  });
});

test("a source that does not exist refuses whatever comes", async () => {
  for (const headers of [{}, { authorization: "Bearer x" }, { "x-hub-signature-256": "sha256=00" }]) {
    const reception = await refuseUnknownSource("src_1", jsonRequest("{}", headers));
    expect(reception).toEqual({ kind: "refused", reason: "unknown_source" });
  }
});

describe("hmac signatures", () => {
  const signed = (body: string, secret = "s") =>
    jsonRequest(body, { "x-hub-signature-256": `sha256=${hexMac(secret, body)}` });

  test("are refused while no secret was entered, an empty secret included", async () => {
    const reason: Reception = { kind: "refused", reason: "awaiting_secret" };
    expect(await receive("github", signed("{}", ""), materialOf([]))).toEqual(reason);
    expect((await receive("github", signed("{}", ""), materialOf([""]))).kind).toBe("refused");
  });

  test("without the prefix are malformed", async () => {
    const request = jsonRequest("{}", { "x-hub-signature-256": hexMac("s", "{}") });
    expect(await receive("github", request, materialOf(["s"]))).toEqual({
      kind: "refused",
      reason: "malformed",
    });
  });

  test("may be written in capitals where they are hexadecimal", async () => {
    const signature = `sha256=${hexMac("s", "{}").toUpperCase()}`;
    const request = jsonRequest("{}", { "x-hub-signature-256": signature, "x-github-event": "push" });
    expect((await receive("github", request, materialOf(["s"]))).kind).toBe("event");
  });

  test("are over the bytes: invalid UTF-8 verifies, and is kept as raw", async () => {
    const body = new Uint8Array([0xff, 0xfe]);
    const request = requestOf({ body, headers: { "x-hub-signature-256": `sha256=${hexMac("s", body)}` } });
    const reception = await receive("github", request, materialOf(["s"]));
    expect(reception).toMatchObject({ kind: "event", data: '{"raw":"\uFFFD\uFFFD"}' });
  });

  test("of a batch with a very long identity give a short one", async () => {
    const events = Array.from({ length: 100 }, (_unused, index) => ({
      id: `EV${index}`,
      resource_type: "mandates",
      action: "x",
    }));
    const body = JSON.stringify({ events });
    const reception = await receive(
      "gocardless",
      jsonRequest(body, { "webhook-signature": hexMac("s", body) }),
      materialOf(["s"]),
    );
    expect(reception).toMatchObject({
      type: "gocardless.mandates.x",
      deliveryId: expect.stringMatching(/^long:[0-9a-f]{64}$/),
    });
  });

  test("long ones that differ in half a character alone are two", async () => {
    const idOf = async (last: string) =>
      service(jsonRequest(`{"id":"${"x".repeat(300)}${last}"}`, { "x-service-token": TOKEN }));
    const [one, other, again] = [await idOf("\\ud800"), await idOf("\\ud801"), await idOf("\\ud800")];
    expect([one.kind, "deliveryId" in one && one.deliveryId?.startsWith("long:")]).toEqual(["event", true]);
    expect(again).toMatchObject({ deliveryId: "deliveryId" in one && one.deliveryId });
    expect(other).not.toMatchObject({ deliveryId: "deliveryId" in one && one.deliveryId });
  });

  test("an identity that is only a hash of the body holds for ten minutes", async () => {
    const body = '{"triggerEvent":"X"}';
    const reception = await receive(
      "calcom",
      jsonRequest(body, { "x-cal-signature-256": hexMac("s", body) }),
      materialOf(["s"]),
    );
    expect(reception).toMatchObject({ kind: "event", dedupSeconds: 600 });
  });

  test("an id of the provider holds for thirty days, and is nothing else, however it begins", async () => {
    const words = ["body:1", "long:1", "header:1", "proof\\n1", "id:body:1"];
    const ids = words.map(async (id) => {
      const body = `{"type":"a","id":"${id}"}`;
      const at = String(NOW_MS / 1000);
      const signature = { "stripe-signature": `t=${at},v1=${hexMac("s", `${at}.${body}`)}` };
      const reception = await receive("stripe", jsonRequest(body, signature), materialOf(["s"]));
      expect(reception).toMatchObject({ dedupSeconds: 2_592_000 });
      return "deliveryId" in reception ? reception.deliveryId : null;
    });
    expect(await Promise.all(ids)).toEqual(words.map((id) => `id:${id.replace("\\n", "\n")}`));
  });

  test("a header that nobody signed takes the place of no id that is signed", async () => {
    const at = String(NOW_MS);
    const sent = (body: string, key?: string) =>
      receive(
        "cashfree",
        jsonRequest(body, {
          "x-webhook-timestamp": at,
          "x-webhook-signature": base64Mac("s", at + body),
          ...(key === undefined ? {} : { "x-idempotency-key": key }),
        }),
        materialOf(["s"]),
      );
    const payment = await sent('{"type":"PAID","data":{"payment":{"cf_payment_id":"5002"}}}');
    const dispute = await sent('{"type":"DISPUTE"}', "PAID|5002");
    expect(payment).toMatchObject({ kind: "event", deliveryId: "PAID|5002" });
    expect(dispute).toMatchObject({ kind: "event", deliveryId: "header:PAID|5002" });
  });

  test("of hmac an id in the signed body goes before a header that is not signed", async () => {
    const config = {
      header: "x-mac",
      algorithm: "sha256",
      encoding: "hex",
      id_header: "x-id",
      id_path: "id",
    };
    const sent = async (id_header: object, signed_content: string, text: string, body = '{"id":"in"}') => {
      const request = jsonRequest(body, { "x-mac": hexMac("s", text), ...id_header });
      const reception = await receive(
        "hmac",
        request,
        materialOf(["s"], { config: { ...config, signed_content } }),
      );
      return "deliveryId" in reception ? reception.deliveryId : reception.kind;
    };
    const named = { "x-id": "out" };
    expect(await sent(named, "{body}", '{"id":"in"}')).toBe("in");
    expect(await sent(named, "{id}.{body}", 'out.{"id":"in"}')).toBe("out");
    expect(await sent(named, "{body}", "{}", "{}")).toBe("header:out");
  });

  test.each(["constructor", "__proto__", "toString"])(
    "of hmac a header called %s is one like any other",
    async (name) => {
      const config = {
        header: "x-mac",
        algorithm: "sha256",
        encoding: "hex",
        id_header: name,
        type_header: name,
      };
      const read = async (headers: Record<string, string>) => {
        const request = jsonRequest("{}", { "x-mac": hexMac("s", "{}"), ...headers });
        return receive("hmac", request, materialOf(["s"], { config }));
      };
      expect((await read({})).kind).toBe("event");
      const named = Object.fromEntries([[name, "a.b"]]);
      expect(await read(named)).toMatchObject({ kind: "event", deliveryId: "header:a.b" });
    },
  );
});

test("config.tolerance_seconds narrows the window and never widens it", async () => {
  const at = (secondsAgo: number) => {
    const timestamp = String(NOW_MS / 1000 - secondsAgo);
    return jsonRequest("{}", { "stripe-signature": `t=${timestamp},v1=${hexMac("s", `${timestamp}.{}`)}` });
  };
  const kind = async (secondsAgo: number, tolerance: number) => {
    const material = materialOf(["s"], { config: { tolerance_seconds: tolerance } });
    return (await receive("stripe", at(secondsAgo), material)).kind;
  };
  expect([await kind(60, 60), await kind(61, 60), await kind(301, 900)]).toEqual([
    "event",
    "refused",
    "refused",
  ]);
});

test("a timestamp that is no whole number is malformed, even when it is signed", async () => {
  for (const timestamp of ["", "1e9", "-1", "1800000000.0", " 1800000000", "NaN", "9".repeat(17)]) {
    const header = `t=${timestamp},v1=${hexMac("s", `${timestamp}.{}`)}`;
    const reception = await receive(
      "stripe",
      jsonRequest("{}", { "stripe-signature": header }),
      materialOf(["s"]),
    );
    expect([timestamp, reception.kind]).toEqual([timestamp, "refused"]);
  }
});

test("any of several signatures in one header is enough, an unknown version is passed over", async () => {
  const at = NOW_MS / 1000;
  const right = hexMac("s", `${at}.{}`);
  const kinds = await Promise.all(
    [`t=${at},v1=00,v1=${right}`, `t=${at},v1=${right},v1=00`, `t=${at},v0=${right}`].map(async (header) => {
      const reception = await receive(
        "stripe",
        jsonRequest("{}", { "stripe-signature": header }),
        materialOf(["s"]),
      );
      return reception.kind;
    }),
  );
  expect(kinds).toEqual(["event", "event", "refused"]);
});

test("a header that holds thousands of entries is cut off, not worked through", async () => {
  const at = NOW_MS / 1000;
  const right = `v1=${hexMac("s", `${at}.{}`)}`;
  const header = `t=${at},${"v1=0,".repeat(5000)}${right}`;
  const request = withHeader(jsonRequest("{}", {}), "stripe-signature", header);
  expect((await receive("stripe", request, materialOf(["s"]))).kind).toBe("refused");
});

test("texts of any lengths are compared without a throw", () => {
  expect([isSame("a", "a"), isSame("a", "b"), isSame("", "aaaa"), isSame("", "")]).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect([isAnySame([], ["a"]), isAnySame(["a"], []), isAnySame(["a", "b"], ["c", "b"])]).toEqual([
    false,
    false,
    true,
  ]);
});

describe("a signed id", () => {
  const config = { header: "x-sig", algorithm: "sha256", encoding: "hex", id_header: "x-id" };
  const send = (id: string, content: string, body: string) =>
    jsonRequest(body, { "x-sig": hexMac("s", content), "x-id": id });

  test.each([
    ["{id}.{body}", "e-1", 'e-1.{"a":"b.c"}', '{"a":"b.c"}', "event"],
    ["{id}.{body}", 'e-1.{"a":"b', 'e-1.{"a":"b.c"}', 'c"}', "malformed"],
    ["{id}.{body}", "{e-1}", '{e-1}.{"a":"b"}', '{"a":"b"}', "event"],
    ["{body}:{id}", 'b":e-1', '{"a":b":e-1', '{"a"', "malformed"],
  ])("of %s ends where it ends: %s", async (template, id, content, body, wanted) => {
    const material = materialOf(["s"], { config: { ...config, signed_content: template } });
    const reception = await receive("hmac", send(id, content, body), material);
    expect<string>(reception.kind === "refused" ? reception.reason : reception.kind).toBe(wanted);
  });

  test("of Standard Webhooks is not lengthened by what the body holds", async () => {
    const at = String(NOW_MS / 1000);
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const key = Buffer.from(secret.slice(6), "base64");
    const received = (id: string, body: string) =>
      receive(
        "standard_webhooks",
        jsonRequest(body, {
          "webhook-id": id,
          "webhook-timestamp": at,
          "webhook-signature": `v1,${base64Mac(key, `msg_1.${at}.{"note":"x.${at}.{}"}`)}`,
        }),
        materialOf([secret]),
      );
    expect((await received("msg_1", `{"note":"x.${at}.{}"}`)).kind).toBe("event");
    expect((await received(`msg_1.${at}.{"note":"x`, '{}"}')).kind).toBe("refused");
  });
});

test("a time without its seconds or its zone, or with zeros in front, is none: they may belong to what stands beside it", () => {
  const at = Date.parse("2026-11-25T07:50:11.5Z");
  for (const text of ["2026-11-25T07:50:11.5Z", "2026-11-25T08:50:11.5+01:00"])
    expect([text, readTimestamp(text, "iso")]).toEqual([text, at]);
  for (const text of ["2026-11-25T07:50:11.5", "2026-11-25T07:50"])
    expect(readTimestamp(text, "iso")).toBeNull();
  expect(readTimestamp("2026-11-25T07:50:11.5", "utc")).toBe(at);
  expect([readTimestamp("1795593011", "s"), readTimestamp("01795593011", "s")]).toEqual([
    1795593011000,
    null,
  ]);
});

test("a row whose proof is taken once takes nothing where its scheme does not hand on what was proven", async () => {
  const row = PROVIDER_ROWS.find(({ key }) => key === "github");
  if (!row) throw new Error("there is no github");
  const body = '{"action":"opened"}';
  const request = jsonRequest(body, { "x-hub-signature-256": `sha256=${hexMac("s", body)}` });
  const arrival = { request, material: materialOf(["s"]), nowMs: NOW_MS, keys: NO_KEYS };
  expect(await receiveBy(row, arrival, PLENTY)).toMatchObject({ kind: "event", proof: null });
  const takenOnce = { ...row, proofTakenOnce: provenHash };
  expect(await receiveBy(takenOnce, arrival, PLENTY)).toEqual({ kind: "refused", reason: "malformed" });
});
