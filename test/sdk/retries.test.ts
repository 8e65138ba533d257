import { describe, expect, test } from "bun:test";
import { type ApiError, ConnectionError, errorOf } from "../../sdk/typescript/src/errors.ts";
import { mayRepeat, pause, type Repeats, waitMs } from "../../sdk/typescript/src/retries.ts";
import { countListeners } from "./listeners.ts";

function answer(status: number, headers: Record<string, string> = {}, code = "unknown"): ApiError {
  const problem = { code, detail: "No." };
  return errorOf(new Response(null, { status, headers }), JSON.stringify(problem));
}

describe("what is made again", () => {
  const cut = new ConnectionError("cut");
  const atWork = answer(409, {}, "idempotency_in_progress");

  test.each<[string, unknown, Repeats[]]>([
    ["a connection that was cut", cut, ["key", "idempotent"]],
    ["a 429, which did nothing", answer(429), ["key", "idempotent", "never"]],
    ["a 502", answer(502), ["key", "idempotent"]],
    ["a 503", answer(503), ["key", "idempotent"]],
    ["a 504", answer(504), ["key", "idempotent"]],
    ["a key whose first request is still at work", atWork, ["key", "idempotent"]],
    ["a 500", answer(500), []],
    ["a 409", answer(409, {}, "conflict"), []],
    ["a 401", answer(401), []],
    ["a fault of the program", new TypeError("no"), []],
  ])("%s", (_what, error, expected) => {
    const repeated = (["key", "idempotent", "never"] as const).filter((repeats) => mayRepeat(error, repeats));
    expect(repeated).toEqual(expected);
  });
});

describe("how long it waits", () => {
  test("half a second doubling to eight, of which chance takes up to a half", () => {
    const error = new ConnectionError("cut");
    expect([1, 2, 3, 4, 5, 6, 60].map((made) => waitMs(error, made, 0))).toEqual([
      ...[500, 1000, 2000, 4000, 8000, 8000, 8000],
    ]);
    expect([waitMs(error, 1, 1), waitMs(error, 60, 0.5)]).toEqual([250, 6000]);
  });

  test("never less than retry-after", () => {
    const error = answer(429, { "retry-after": "30" });
    expect([waitMs(error, 1, 0), waitMs(error, 1, 1)]).toEqual([30_000, 33_000]);
  });
});

describe("a pause", () => {
  test("ends by itself, and leaves no listener on the signal", async () => {
    const { signal } = new AbortController();
    const listeners = countListeners(signal);
    const pausing = pause(1, signal);
    expect(listeners()).toBe(1);
    await pausing;
    expect(listeners()).toBe(0);
  });

  test("ends when its signal is aborted, before or while it waits", async () => {
    const aborting = new AbortController();
    const waiting = pause(60_000, aborting.signal);
    aborting.abort(new Error("enough"));
    expect(waiting).rejects.toThrow("enough");
    expect(pause(60_000, aborting.signal)).rejects.toThrow("enough");
  });
});
