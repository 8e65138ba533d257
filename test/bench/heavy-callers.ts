import { createHmac } from "node:crypto";
import { atOnce, call, publish, type Tally, type Target } from "./heavy-kit.ts";
import { holdConnections } from "./held.ts";

/** Heavy floods by those who may call: at the door of a source, at a poll endpoint, and with a logo. */

const SECRET = "a-secret-of-the-bench";

/**
 * Signed bodies of a megabyte that make most work of what is read after the proof: very many proofs to mask,
 * ids beyond 2^53, values behind many levels, and a search in XML that finds no end.
 */
export async function signedBodies(target: Target): Promise<() => Promise<Tally>> {
  const custom = { header: "x-sig", algorithm: "sha256", encoding: "hex" };
  const sign = (body: string) => createHmac("sha256", SECRET).update(body).digest("hex");
  const signed = (body: string) => ({ body, headers: { "x-sig": sign(body) } });
  const proofs = '{"clientState":"s"},'.repeat(52_000).slice(0, -1);
  const zeros = `${"0,".repeat(510_000)}0`;
  const payload = Buffer.from("<kind ".repeat(100_000)).toString("base64");
  const mac = createHmac("sha1", new Bun.SHA1().update("sk").digest()).update(payload).digest("hex");
  const form = new URLSearchParams({ bt_signature: `pk|${mac}`, bt_payload: payload });
  const sources = [
    [
      { provider: "microsoft_graph", signing_secret: "s" },
      { body: `{"value":[${proofs}]}`, headers: {} },
    ],
    [
      {
        provider: "hmac",
        signing_secret: SECRET,
        config: { ...custom, id_path: "id", type_path: "type" },
      },
      signed(`{"id":12345678901234567890,"type":12345678901234567891,"x":[${zeros}]}`),
    ],
    [
      { provider: "hmac", signing_secret: SECRET, config: { ...custom, id_path: `x${".*".repeat(60)}` } },
      signed(`{"x":${"[".repeat(60)}${zeros}${"]".repeat(60)}}`),
    ],
    [
      { provider: "braintree", credentials: { public_key: "pk", private_key: "sk" } },
      { body: form.toString(), headers: { "content-type": "application/x-www-form-urlencoded" } },
    ],
  ] as const;
  const requests: (() => Promise<Response>)[] = [];
  for (const [source, { body, headers }] of sources) {
    const reply = await call(target, "POST", "/v1/sources", { name: "bench", ...source });
    const { ingest_path: path } = (await reply.json()) as { ingest_path: string };
    requests.push(() => fetch(`http://127.0.0.1:${target.port}${path}`, { method: "POST", body, headers }));
  }
  let at = 0;
  return () => atOnce(40, () => requests[at++ % requests.length]?.() ?? Promise.reject(new Error("none")), 4);
}

/** Held polls of endpoints that are paused, each of which hears of every event. */
export async function crowdedPolls(target: Target): Promise<() => Promise<Tally>> {
  const held: (() => void)[] = [];
  for (let n = 0; n < 20; n++) {
    const reply = await call(target, "POST", "/v1/endpoints", { kind: "poll" });
    const { id, secret } = (await reply.json()) as { id: string; secret: string };
    await call(target, "POST", `/v1/endpoints/${id}/pause`);
    const request = `GET /poll/${id}?wait=20 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${secret}\r\n\r\n`;
    held.push(await holdConnections(target.port, request, 100));
  }
  return async () => {
    const tally = await atOnce(100, () => publish(target, {}), 4);
    for (const close of held) close();
    return tally;
  };
}

/** Logos whose server sends all but the last byte. */
export async function heldLogos(target: Target): Promise<() => Promise<Tally>> {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: ${256 * 1024}\r\n\r\n`;
  const answer = Buffer.from(head + "x".repeat(256 * 1024 - 1));
  const socket = { data: (one: { write(bytes: Uint8Array): number }) => void one.write(answer) };
  const { port } = Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
  const branding = { logo_url: `http://127.0.0.1:${port}/logo.png` };
  return () => atOnce(600, () => call(target, "PATCH", "/v1/project", { branding }), 600);
}
