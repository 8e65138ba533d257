import { expect, test } from "bun:test";
import { optionsOf } from "../../../../src/portal/views/parts/endpoint-name.ts";

const endpoint = (id: string, url: string, description: string | null = null) => ({
  ...{ id, url, description },
  kind: "http",
  config: { url },
});

test("endpoints of one host are told apart by their paths", () => {
  const all = ["a", "b"].map((name) => endpoint(`ep_${name}`, `https://example.com/${name}`));
  expect(optionsOf(all).map(({ text }) => text)).toEqual(["example.com/a", "example.com/b"]);
});

test("those that are described alike by where they lead, and those that lead to one place by their ids", () => {
  const all = [
    endpoint("ep_000000000001", "https://example.com/a", "Ledger"),
    endpoint("ep_000000000002", "https://example.com/b", "Ledger"),
    endpoint("ep_000000000003", "https://example.com/"),
    endpoint("ep_000000000004", "https://example.com/"),
    endpoint("ep_000000000005", "https://example.com/", "Mail"),
  ];
  expect(optionsOf(all).map(({ text }) => text)).toEqual([
    "Ledger · example.com/a",
    "Ledger · example.com/b",
    "example.com · …000003",
    "example.com · …000004",
    "Mail",
  ]);
});
