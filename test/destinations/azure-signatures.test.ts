/** Signatures of Azure, against what its own clients and its documentation compute. */
import { describe, expect, test } from "bun:test";
import { sharedAccessSignature, sharedKey } from "../../src/destinations/azure-signatures.ts";
import { readConnectionString, requirePart } from "../../src/destinations/connection-string.ts";

describe("a token of Service Bus", () => {
  test("is the one that the documentation's own recipe computes", async () => {
    // learn.microsoft.com/rest/api/eventhub/generate-sas-token, the recipe for the browser, word for word in
    // its steps.
    const uri = "https://acme.servicebus.windows.net/orders";
    const keyName = "RootManage&Key";
    const key = "a+key/with=signs";
    const expiresAt = 1_795_165_200;
    const encoded = encodeURIComponent(uri);
    const subtle = await crypto.subtle.importKey(
      "raw",
      new TextEncoder().encode(key),
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["sign"],
    );
    const signed = new TextEncoder().encode(`${encoded}\n${expiresAt}`);
    const hash = Buffer.from(await crypto.subtle.sign("HMAC", subtle, signed)).toString("base64");
    expect(sharedAccessSignature(uri, keyName, key, expiresAt)).toBe(
      `SharedAccessSignature sr=${encoded}&sig=${encodeURIComponent(hash)}&se=${expiresAt}&skn=RootManage%26Key`,
    );
  });
});

describe("the shared key of a storage account", () => {
  const request = {
    method: "POST",
    url: new URL("http://127.0.0.1:10001/acme/orders/messages?visibilitytimeout=10&TimeOut=5"),
    contentLength: 42,
    contentType: "application/xml",
    msHeaders: { "x-ms-version": "2021-12-02", "x-ms-date": "Sat, 21 Nov 2026 09:00:00 GMT" },
  };
  const key = Buffer.from("the key of the account").toString("base64");

  test("signs each part at its place; headers and query are in order", () => {
    const text = [
      "POST\n\n\n42\n\napplication/xml\n\n\n\n\n\n",
      "x-ms-date:Sat, 21 Nov 2026 09:00:00 GMT",
      "x-ms-version:2021-12-02",
      "/acme/acme/orders/messages",
      "timeout:5",
      "visibilitytimeout:10",
    ].join("\n");
    const hmac = new Bun.CryptoHasher("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
    expect(sharedKey("acme", key, request)).toBe(`SharedKey acme:${hmac}`);
  });

  test("signs no length where there is no body", () => {
    expect(sharedKey("acme", key, { ...request, contentLength: 0 })).not.toBe(
      sharedKey("acme", key, request),
    );
  });
});

describe("a connection string", () => {
  test("is read whatever the case of its names; a value may hold signs of its own", () => {
    const parts = readConnectionString("Endpoint=sb://a.example.com/; sharedaccesskey=a=b==;;=x;nothing");
    expect([...parts]).toEqual([
      ["endpoint", "sb://a.example.com/"],
      ["sharedaccesskey", "a=b=="],
    ]);
  });

  test("is refused where a part stands twice, in whatever case", () => {
    const text = "Endpoint=sb://a.example.com/;SharedAccessKey=a;ENDPOINT=sb://b.example.com/";
    expect(() => readConnectionString(text)).toThrow("The connection string has one part twice.");
  });

  test("says which part is missing, and repeats nothing of itself", () => {
    const parts = readConnectionString("SharedAccessKey=secret");
    expect(() => requirePart(parts, "Endpoint")).toThrow("The connection string has no Endpoint.");
  });
});
