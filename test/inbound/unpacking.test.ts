/** Bodies that come compressed: signed as they came, read unpacked, and the same event by whatever header. */
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import type { InboundRequest } from "../../src/inbound/provider.ts";
import { findProvider } from "../../src/inbound/providers.ts";
import { jsonRequest, keysOf, materialOf, NOW_MS, withBody, withHeader } from "./kit.ts";
import { receive } from "./outcome.ts";
import { hexMac } from "./recompute.ts";

const PACKED = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync } as const;
const CODINGS = Object.entries(PACKED);
const TEXT = JSON.stringify({ id: "77", type: "usage.reported", name: "Zo\u00eb", units: 12 });

/** As GitHub signs: over the bytes that came. */
function signed(body: Uint8Array, coding: string, event = "push"): InboundRequest {
  const headers = {
    "x-github-event": event,
    "x-github-delivery": "d-1",
    "x-hub-signature-256": `sha256=${hexMac("s", body)}`,
    "content-encoding": coding,
  };
  return withBody(jsonRequest("", headers), body);
}

function withToken(body: Uint8Array, coding: string): InboundRequest {
  return withBody(jsonRequest("", { "x-service-token": "s", "content-encoding": coding }), body);
}

const material = materialOf(["s"]);
const shown = (reception: object) => ({ ...reception, answer: null });

/** What it needs, beside what becomes of it. */
async function meansFor(request: InboundRequest, key = "service") {
  const [turns, room]: [number[], number[]] = [[], []];
  const means = {
    giveWay: (bytes = 0) => Promise.resolve(void turns.push(bytes)),
    takeRoom: (bytes: number) => void room.push(bytes),
  };
  const reception = await findProvider(key)?.receive(request, material, NOW_MS, keysOf(null), means);
  return { kind: reception?.kind, turns, room };
}

describe.each(CODINGS)("in %s", (coding, pack) => {
  const packed = new Uint8Array(pack(TEXT));

  test("it is the event that it is unpacked, whether a token or a signature proves it", async () => {
    const plain = await receive("service", withToken(Buffer.from(TEXT), "identity"), material);
    expect(plain).toMatchObject({
      kind: "event",
      type: "service.usage.reported",
      deliveryId: "77",
      data: TEXT,
    });
    expect(shown(await receive("service", withToken(packed, coding), material))).toEqual(shown(plain));
    const bySignature = await receive("github", signed(packed, coding), material);
    expect(bySignature).toMatchObject({ kind: "event", type: "github.push", deliveryId: "d-1", data: TEXT });
    const unpacked = { ...signed(packed, coding), body: Buffer.from(TEXT) };
    expect(await receive("github", unpacked, material)).toEqual({ kind: "refused", reason: "bad_signature" });
  });

  test("another header, or none, makes no other event of it", async () => {
    const request = withToken(packed, coding);
    const wanted = shown(await receive("service", request, material));
    for (const named of ["", "identity", "gzip", "deflate", "br", "x-gzip", "zstd"]) {
      const other = withHeader(request, "content-encoding", named);
      expect(shown(await receive("service", other, material))).toEqual(wanted);
      const plain = withHeader(withToken(Buffer.from(TEXT), coding), "content-encoding", named);
      expect(shown(await receive("service", plain, material))).toEqual(wanted);
    }
  });

  test("what is broken, or no text once unpacked, is kept byte for byte", async () => {
    const broken = packed.subarray(0, -6);
    const data = JSON.stringify({ base64: Buffer.from(broken).toString("base64") });
    expect(await receive("service", withToken(broken, coding), material)).toMatchObject({ data });
    const binary = new Uint8Array(pack(Buffer.from([0xff, 0xfe, 0, 1])));
    const unpacked = JSON.stringify({ base64: "//4AAQ==" });
    expect(await receive("service", withToken(binary, coding), material)).toMatchObject({ data: unpacked });
  });

  test("it unpacks to as much as a body may have, and takes room for that; a forged one is not unpacked", async () => {
    const most = limit("ingestBodyBytesMax");
    const textOf = (length: number) => `{"a":"${"x".repeat(length - 8)}"}`;
    const whole = withToken(new Uint8Array(pack(textOf(most))), coding);
    expect(await meansFor(whole)).toEqual({ kind: "event", turns: [most, most], room: [most] });
    const larger = withToken(new Uint8Array(pack(textOf(most + 1))), coding);
    expect(await meansFor(larger)).toEqual({ kind: "too_large", turns: [most], room: [] });
    const forged = withHeader(whole, "x-service-token", "another");
    expect(await meansFor(forged)).toEqual({ kind: "refused", turns: [], room: [] });
    const forgedToo = withHeader(
      signed(whole.body, coding),
      "x-hub-signature-256",
      `sha256=${"0".repeat(64)}`,
    );
    expect(await meansFor(forgedToo, "github")).toEqual({ kind: "refused", turns: [], room: [] });
  });
});

test("bytes that no coding made are kept, whatever the header says", async () => {
  for (const coding of ["gzip", "deflate", "br", "identity"])
    for (const bytes of [
      [0, 255],
      [0x1f, 0x8b, 8],
      [0x78, 0x9c],
      [0x1f, 0x8b, 8, ...Array<number>(20).fill(255)],
    ]) {
      const data = JSON.stringify({ base64: Buffer.from(bytes).toString("base64") });
      expect(await receive("service", withToken(new Uint8Array(bytes), coding), material)).toMatchObject({
        data,
      });
    }
});

test("a packed body may hold text in another charset", async () => {
  const latin = new Uint8Array(gzipSync(Buffer.from(TEXT, "latin1")));
  const request = withHeader(
    withToken(latin, "gzip"),
    "content-type",
    "application/json; charset=iso-8859-1",
  );
  expect(await receive("service", request, material)).toMatchObject({
    type: "service.usage.reported",
    data: TEXT,
  });
});
