import { describe, expect, test } from "bun:test";
import type { Provider } from "../../src/inbound/provider.ts";
import { findProvider } from "../../src/inbound/providers.ts";
import { materialOf } from "./kit.ts";

function provider(key: string): Provider {
  const found = findProvider(key);
  if (!found) throw new Error(`There is no provider ${key}.`);
  return found;
}

function pointers(key: string, config: Record<string, unknown>): string[] {
  return provider(key)
    .checkConfig(config)
    .map((fault) => fault.pointer);
}

const PLAIN = { header: "X-Signature", algorithm: "sha256", encoding: "hex" };

describe("the config of hmac", () => {
  test("is accepted in full and in its least form", () => {
    expect(pointers("hmac", PLAIN)).toEqual([]);
    const full = {
      ...PLAIN,
      prefix: "sha256=",
      signed_content: "{id}.{timestamp}.{url}.{body}",
      timestamp_header: "X-Time",
      timestamp_unit: "ms",
      tolerance_seconds: 60,
      id_header: "X-Id",
      id_path: "data.id",
      type_header: "X-Type",
      type_path: "type",
      public_url: "https://proxy.example.com/in?x=1",
    };
    expect(pointers("hmac", full)).toEqual([]);
    expect(pointers("hmac", { ...PLAIN, timestamp_header: "X-Time", id_header: "X-Id" })).toEqual([]);
  });

  test.each([
    [{}, ["/config/header", "/config/algorithm", "/config/encoding"]],
    [{ ...PLAIN, algorithm: "md5" }, ["/config/algorithm"]],
    [{ ...PLAIN, encoding: "base32" }, ["/config/encoding"]],
    [{ ...PLAIN, header: "two words" }, ["/config/header"]],
    [{ ...PLAIN, header: 1 }, ["/config/header"]],
    [{ ...PLAIN, "a/b~c": 1 }, ["/config/a~1b~0c"]],
    [{ ...PLAIN, tolerance_seconds: 0 }, ["/config/tolerance_seconds"]],
    [{ ...PLAIN, tolerance_seconds: 86_401 }, ["/config/tolerance_seconds"]],
    [{ ...PLAIN, tolerance_seconds: 1.5 }, ["/config/tolerance_seconds"]],
    [{ ...PLAIN, timestamp_unit: "ns" }, ["/config/timestamp_unit"]],
    [{ ...PLAIN, id_path: "a..b" }, ["/config/id_path"]],
    [{ ...PLAIN, public_url: "ftp://x" }, ["/config/public_url"]],
    [{ ...PLAIN, public_url: "https://x.example/\ud800" }, ["/config/public_url"]],
    [{ ...PLAIN, public_url: "https://x/#f" }, ["/config/public_url"]],
    [{ ...PLAIN, signed_content: "{secret}{body}" }, ["/config/signed_content"]],
    [{ ...PLAIN, signed_content: "{nonsense}{body}" }, ["/config/signed_content"]],
    [{ ...PLAIN, signed_content: "{url}" }, ["/config/signed_content"]],
    [{ ...PLAIN, signed_content: "{body}.{body}" }, ["/config/signed_content"]],
    [{ ...PLAIN, signed_content: "{url}.{url}.{body}" }, ["/config/signed_content"]],
    [{ ...PLAIN, id_header: "x", signed_content: "{id}.{id}.{body}" }, ["/config/signed_content"]],
    [
      { ...PLAIN, timestamp_header: "x", signed_content: "{timestamp}.{body}.{timestamp}" },
      ["/config/signed_content"],
    ],
    [{ ...PLAIN, signed_content: "{timestamp}{body}" }, ["/config/timestamp_header"]],
    [{ ...PLAIN, signed_content: "{id}{body}" }, ["/config/id_header"]],
  ])("%j is refused with its pointers", (config, wanted) => {
    expect(pointers("hmac", config)).toEqual(wanted);
  });
});

test("other providers take public_url and tolerance_seconds only where these mean something", () => {
  expect(pointers("square", { public_url: "https://x.example.com/a" })).toEqual([]);
  expect(pointers("stripe", { tolerance_seconds: 60 })).toEqual([]);
  expect(pointers("stripe", { public_url: "https://x.example.com" })).toEqual(["/config/public_url"]);
  expect(pointers("github", { tolerance_seconds: 60 })).toEqual(["/config/tolerance_seconds"]);
  expect(pointers("fireblocks", { region: "mars", workspace_id: "" })).toEqual([
    "/config/region",
    "/config/workspace_id",
  ]);
});

test("credentials are checked by name and form; what is missing may come later", () => {
  const check = (key: string, values: Record<string, unknown>) =>
    provider(key)
      .checkCredentials(values)
      .map((fault) => fault.pointer);
  expect(check("plaid", {})).toEqual([]);
  expect(check("plaid", { client_id: "c", secret: "s", environment: "sandbox" })).toEqual([]);
  expect(check("plaid", { environment: "moon", typo: "x" })).toEqual([
    "/credentials/typo",
    "/credentials/environment",
  ]);
  expect(check("stripe", { key: "x" })).toEqual(["/credentials/key"]);
  expect(check("meta", { verify_token: 5 })).toEqual(["/credentials/verify_token"]);
});

test.each([
  ["standard_webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true],
  ["standard_webhooks", "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", true],
  ["standard_webhooks", "whpk_short", false],
  ["standard_webhooks", "no base64!", false],
  ["stripe", "whatever the provider shows", true],
  ["adyen", "DFB1EB", true],
  ["adyen", "not hex", false],
  ["discord", "00".repeat(32), true],
  ["discord", "00".repeat(31), false],
  ["sendgrid", "-----BEGIN PUBLIC KEY-----\nbroken\n-----END PUBLIC KEY-----", false],
  ["sendgrid", "not a key", false],
  ["chargebee", "user:password", true],
  ["chargebee", "password", false],
  ["telegram", "A-Za-z0-9_", true],
  ["telegram", "a+b/c=", false],
  ["braintree", "anything", false],
])("the form of a secret for %s is checked", (key, secret, isAccepted) => {
  expect(provider(key).checkSecret(secret) === null).toBe(isAccepted);
});

test("a source awaits what its provider cannot do without", () => {
  const awaits = (key: string, secrets: string[], credentials: Record<string, string> = {}) =>
    provider(key).isAwaiting(materialOf(secrets, { credentials }));
  expect(awaits("github", [])).toBe(false);
  expect(awaits("stripe", [])).toBe(true);
  expect(awaits("stripe", ["whsec_x"])).toBe(false);
  expect(awaits("asana", [])).toBe(true);
  expect(awaits("asana", ["learned"])).toBe(false);
  expect(awaits("meta", ["secret"])).toBe(true);
  expect(awaits("meta", ["secret"], { verify_token: "t" })).toBe(false);
  expect(awaits("braintree", [], { public_key: "p" })).toBe(true);
  expect(awaits("braintree", [], { public_key: "p", private_key: "q" })).toBe(false);
  expect(awaits("revenuecat", [])).toBe(true);
  expect(awaits("revenuecat", [], { authorization: "Bearer x" })).toBe(false);
  expect(awaits("mailchimp", [])).toBe(false);
});

test("the header that Azure Event Grid is told to send has a header's name", () => {
  const faultsOf = (name: string) => provider("azure_event_grid").checkCredentials({ header_name: name });
  expect(faultsOf("X-Sealpost-Secret")).toEqual([]);
  const detail = "Expected the name of a header.";
  for (const name of ["", "two words", "x:y", "ä"]) {
    expect(faultsOf(name)).toEqual([{ pointer: "/credentials/header_name", detail }]);
  }
});

test("of thousands of unknown settings as many are noted as are told, and no long name", () => {
  const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, 1]));
  expect(pointers("github", unknown)).toHaveLength(50);
  expect(pointers("github", { ["x".repeat(5000)]: 1 })).toEqual(["/config"]);
});
