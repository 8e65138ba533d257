/** Every operation of the document has a name that a person would choose, and no two have the same. */
import { describe, expect, test } from "bun:test";
import { type Document, operationsOf } from "../../sdk/build/document.ts";
import { capitalized, EXCEPTIONS, nameByRule, nameOf, singularOf, snaked } from "../../sdk/build/names.ts";
import { openApi } from "../kit/app.ts";

/** What a method's name begins with. A new verb is added once it was read aloud: `sealpost.events.…`. */
const VERBS = new Set([
  ...["allow", "answer", "cancel", "count", "create", "delete", "enable", "export", "get", "infer", "list"],
  ...["move", "pause", "poll", "preview", "publish", "replay", "resume", "retry", "rotate", "send", "test"],
  ...["update", "verify"],
]);
/** A name does not end so: something was cut off. */
const DANGLING = /(By|Of|For|To|With|And|From)$/;
/** They mean something to JavaScript itself. */
const TAKEN = new Set(["then", "constructor", "toString", "valueOf", "toJSON", "prototype"]);

/** They mean something to Python, or to its client. */
const TAKEN_IN_PYTHON = new Set([
  ...["and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else"],
  ...["except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not"],
  ...["or", "pass", "raise", "return", "try", "while", "with", "yield", "with_options"],
]);

const operations = operationsOf((await openApi()) as unknown as Document).map(({ operation }) => operation);
const named = operations.map((operation) => ({ id: operation.operationId, ...nameOf(operation) }));

/** Why nobody would choose the name; null where it reads well. */
function faultOf({ resource, method }: { resource: string; method: string }): string | null {
  const [verb = ""] = /^[a-z]+/.exec(method) ?? [];
  const plural = capitalized(resource);
  if (!/^[a-z][A-Za-z]*$/.test(resource) || !/^[a-z][A-Za-z]*$/.test(method)) return "is not in camel case";
  if (TAKEN.has(method) || TAKEN.has(resource)) return "means something to JavaScript";
  if ([resource, method].some((name) => TAKEN_IN_PYTHON.has(snaked(name))))
    return "means something to Python";
  if (!VERBS.has(verb)) return "begins with no verb";
  if (DANGLING.test(method)) return "ends in the middle";
  const rest = method.slice(verb.length);
  const repeats = method === resource || (rest.startsWith(singularOf(plural)) && rest !== "");
  return repeats ? "says the resource twice" : null;
}

test.each(named)("$id is $resource.$method", (name) => {
  expect(faultOf(name)).toBeNull();
});

test("no two have the same name", () => {
  const names = named.map(({ resource, method }) => `${resource}.${method}`);
  expect(names.length).toBeGreaterThan(80);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

test("those that everybody begins with are called as anybody would", () => {
  const names = new Map(named.map(({ id, resource, method }) => [id, `${resource}.${method}`]));
  expect(names.get("publishEvent")).toBe("events.publish");
  expect(names.get("listEndpoints")).toBe("endpoints.list");
  expect(names.get("rotateEndpointSecret")).toBe("endpoints.rotateSecret");
  expect(names.get("createApiKey")).toBe("apiKeys.create");
  expect(names.get("getEventType")).toBe("eventTypes.get");
});

test("in Python words are parted by underlines", () => {
  expect(["rotateSecret", "getOpenApi", "list"].map(snaked)).toEqual([
    "rotate_secret",
    "get_open_api",
    "list",
  ]);
});

describe("the exceptions", () => {
  test.each(Object.keys(EXCEPTIONS))("%s is an operation, to which the rule gives another name", (id) => {
    const operation = operations.find(({ operationId }) => operationId === id);
    if (operation === undefined) throw new Error("there is no such operation");
    expect(nameByRule(operation)).not.toEqual(nameOf(operation));
  });
});

describe("a name that reads badly", () => {
  test.each([
    ["events", "publishEvent", "says the resource twice"],
    ["polling", "polling", "begins with no verb"],
    ["poll", "poll", "says the resource twice"],
    ["endpoints", "getStatsBy", "ends in the middle"],
    ["event types", "list", "is not in camel case"],
    ["events", "happen", "begins with no verb"],
    ["events", "then", "means something to JavaScript"],
    ["events", "import", "means something to Python"],
    ["withOptions", "get", "means something to Python"],
  ])("%s.%s is found", (resource, method, fault) => {
    expect(faultOf({ resource, method })).toBe(fault);
  });
});
