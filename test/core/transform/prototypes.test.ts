import { describe, expect, test } from "bun:test";
import type { Json } from "../../../src/core/json/value.ts";
import { apply, sent, pick, omit, rename, set } from "./kit.ts";

describe("names that reach for prototypes are plain names", () => {
  const body: Json = JSON.parse('{"a":1,"__proto__":{"x":1},"data":{"constructor":{"prototype":{"y":2}}}}');
  const value: Json = JSON.parse('{"__proto__":{"polluted":true}}');
  const rows: [string, Json, string][] = [
    [
      "pick",
      pick("__proto__.x", "data.constructor.prototype.y"),
      '{"__proto__":{"x":1},"data":{"constructor":{"prototype":{"y":2}}}}',
    ],
    ["pick of what is only inherited", pick("a.constructor", "data.toString", "data.__proto__"), "{}"],
    ["omit", omit("__proto__", "data.constructor.prototype"), '{"a":1,"data":{"constructor":{}}}'],
    ["omit beside it", omit("a"), '{"__proto__":{"x":1},"data":{"constructor":{"prototype":{"y":2}}}}'],
    [
      "rename to __proto__",
      rename("a", "b.__proto__"),
      '{"__proto__":{"x":1},"data":{"constructor":{"prototype":{"y":2}}},"b":{"__proto__":1}}',
    ],
    [
      "rename from __proto__",
      rename("__proto__", "p"),
      '{"a":1,"data":{"constructor":{"prototype":{"y":2}}},"p":{"x":1}}',
    ],
    ["rename of what is only inherited", rename("data.__proto__", "p"), JSON.stringify(body)],
    [
      "set below __proto__",
      set("a.__proto__.polluted", true),
      '{"a":{"__proto__":{"polluted":true}},"__proto__":{"x":1},"data":{"constructor":{"prototype":{"y":2}}}}',
    ],
    [
      "set below constructor.prototype",
      [
        { op: "omit", paths: ["__proto__", "data"] },
        { op: "set", path: "c.constructor.prototype.polluted", value: true },
      ],
      '{"a":1,"c":{"constructor":{"prototype":{"polluted":true}}}}',
    ],
    [
      "a value that holds it",
      [
        { op: "pick", paths: ["a"] },
        { op: "set", path: "v", value },
      ],
      '{"a":1,"v":{"__proto__":{"polluted":true}}}',
    ],
    ["unwrap", [{ op: "unwrap", path: "__proto__" }], '{"x":1}'],
    [
      "wrap",
      [
        { op: "unwrap", path: "__proto__" },
        { op: "wrap", key: "__proto__" },
      ],
      '{"__proto__":{"x":1}}',
    ],
  ];
  for (const [name, operations, result] of rows) {
    test(name, () => {
      expect(sent(operations, body)).toBe(result);
      expect(Reflect.get({}, "polluted")).toBeUndefined();
      const transformed = apply(operations, body);
      expect(transformed.ok && Object.getPrototypeOf(transformed.body)).toBe(Object.prototype);
    });
  }

  test("unwrap of what is only inherited is malformed", () => {
    expect(apply([{ op: "unwrap", path: "data.__proto__" }], body).ok).toBe(false);
    expect(apply([{ op: "unwrap", path: "a.constructor" }], body).ok).toBe(false);
  });
});
