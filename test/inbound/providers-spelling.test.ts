import { createHmac } from "node:crypto";
import { expect, test } from "bun:test";
import { findProvider } from "../../src/inbound/providers.ts";

const body = Buffer.from('{"type":"a"}');
const secret = "k";

async function receive(encoding: "base64" | "base64url" | "hex", signature: string): Promise<string> {
  const provider = findProvider("hmac");
  if (!provider) throw new Error("there is no hmac");
  const headers = new Map([["x-sig", signature]]);
  const request = {
    method: "POST",
    url: "http://127.0.0.1/ingest/x",
    headers,
    query: new URLSearchParams(),
    body,
  };
  const config = { header: "x-sig", algorithm: "sha256", encoding };
  return (await provider.receive(request, { secrets: [secret], credentials: {}, config }, Date.now())).kind;
}

const digest = (encoding: "base64" | "base64url" | "hex") =>
  createHmac("sha256", secret).update(body).digest(encoding);

test("base64 and base64url are taken with their padding and without", async () => {
  for (const encoding of ["base64", "base64url"] as const) {
    const bare = digest(encoding).replace(/=+$/, "");
    expect(await receive(encoding, bare)).toBe("event");
    expect(await receive(encoding, `${bare}=`)).toBe("event");
    expect(await receive(encoding, `${bare}A=`)).toBe("refused");
    expect(await receive(encoding, "=")).toBe("refused");
  }
});

test("hex is taken in either case", async () => {
  expect(await receive("hex", digest("hex").toUpperCase())).toBe("event");
});

test("a token in the query string is named as such, also where its plus signs were not encoded", async () => {
  const token = "whsec_a+b/c+d==";
  const query = new URLSearchParams(`token=${token}`);
  const request = {
    method: "POST",
    url: `http://127.0.0.1/ingest/x?token=${token}`,
    headers: new Map<string, string>(),
    query,
    body,
  };
  const received = await findProvider("service")?.receive(
    request,
    { secrets: [token], credentials: {}, config: {} },
    Date.now(),
  );
  expect(received).toEqual({ kind: "refused", reason: "token_in_query" });
});

test("a secret that is a word is in the query where it is all of a name or a value", async () => {
  const send = async (query: string) => {
    const request = {
      method: "POST",
      url: `http://127.0.0.1/ingest/x?${query}`,
      headers: new Map([["x-service-token", "word"]]),
      query: new URLSearchParams(query),
      body,
    };
    const material = { secrets: ["word"], credentials: {}, config: {} };
    return (await findProvider("service")?.receive(request, material, Date.now()))?.kind;
  };
  for (const query of ["word", "word=1", "a=word", "a=b&c=word&d"]) expect(await send(query)).toBe("refused");
  for (const query of ["", "words", "a=sword", "a=wor&d=1"]) expect(await send(query)).toBe("event");
});
