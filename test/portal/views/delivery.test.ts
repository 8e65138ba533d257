/** What the page of a delivery is made of: steps in time, and the command that sends it again. */
import { describe, expect, test } from "bun:test";
import { DEFAULT_SCHEDULE } from "../../../src/core/retry.ts";
import { ATTEMPT_ERROR_CODES } from "../../../src/core/attempt-error.ts";
import { explain } from "../../../src/portal/display/explain.ts";
import { de } from "../../../src/portal/locales/de.ts";
import { en } from "../../../src/portal/locales/en.ts";
import type { Attempt, Delivery } from "../../../src/portal/types.ts";
import { curlOf, isMasked } from "../../../src/portal/views/delivery/curl.ts";
import { goneOf, place, type Step, stepsOf } from "../../../src/portal/views/delivery/steps.ts";

const BEGIN = Date.parse("2026-11-20T09:00:00.000Z");
const at = (seconds: number) => new Date(BEGIN + seconds * 1000).toISOString();

const delivery: Delivery = {
  id: "msg_1",
  event_id: "evt_1",
  event_type: "invoice.paid",
  endpoint_id: "ep_1",
  status: "retrying",
  attempt_count: 1,
  next_attempt_at: at(10),
  waiting_for: null,
  dead_reason: null,
  created_at: at(0),
  completed_at: null,
};

const attempt: Attempt = {
  id: "att_1",
  delivery_id: "msg_1",
  endpoint_id: "ep_1",
  number: 1,
  trigger: "publish",
  started_at: at(0),
  duration_ms: 5,
  outcome: "rejected",
  status_code: 500,
  error_code: null,
  error_detail: null,
  url: "https://hooks.example.com/a",
  request_headers: {},
  request_body: "{}",
  response_headers: {},
  response_body: "",
  response_truncated: false,
  next_attempt_at: at(10),
};

const made = (number: number, trigger: Attempt["trigger"], seconds: number): Attempt => ({
  ...attempt,
  number,
  trigger,
  started_at: at(seconds),
});
const kinds = (steps: readonly Step[]) => steps.map(({ kind }) => kind);

describe("the steps of a delivery", () => {
  test("end with the next attempt and the end of its schedule", () => {
    const steps = stepsOf(delivery, [attempt], { retry: { schedule: [10, 60, 600] } });
    expect(kinds(steps)).toEqual(["accepted", "attempt", "next", "end"]);
    expect(steps.at(-1)).toMatchObject({ at: BEGIN + 670_000, more: 1 });
  });

  test("do not count what was tried by hand, and begin anew with a replay", () => {
    const attempts = [made(4, "replay", 30), made(3, "manual", 20), made(2, "retry", 10), attempt];
    const steps = stepsOf({ ...delivery, next_attempt_at: at(40) }, attempts, {
      retry: { schedule: [10, 60, 600] },
    });
    expect(kinds(steps)).toEqual(["accepted", "attempt", "attempt", "attempt", "attempt", "next", "end"]);
    expect(steps.at(-1)).toMatchObject({ at: BEGIN + 700_000, more: 1 });
  });

  test("have no end where the next attempt is the last, or where there is an end already", () => {
    expect(kinds(stepsOf(delivery, [attempt], { retry: { schedule: [10] } }))).toEqual([
      "accepted",
      "attempt",
      "next",
    ]);
    const ended = { next_attempt_at: null, completed_at: at(0) };
    expect(kinds(stepsOf({ ...delivery, ...ended, status: "delivered" }, [attempt], undefined))).toEqual([
      "accepted",
      "attempt",
    ]);
    expect(kinds(stepsOf({ ...delivery, ...ended, status: "delivered" }, [], undefined))).toEqual([
      "accepted",
      "delivered",
    ]);
    const dead = stepsOf(
      { ...delivery, ...ended, status: "dead", dead_reason: "gone" },
      [attempt],
      undefined,
    );
    expect(dead.at(-1)).toMatchObject({ kind: "dead", reason: "gone" });
    expect(kinds(stepsOf({ ...delivery, ...ended, status: "cancelled" }, [], undefined))).toEqual([
      "accepted",
      "cancelled",
    ]);
  });
});

describe("attempts that have left the log", () => {
  const DAY = 86_400;
  const goneAfter = (seconds: number, fields: Partial<Delivery>, rows: readonly Attempt[] = []) =>
    goneOf({ ...delivery, ...fields }, rows, Date.parse(at(seconds)));

  test("are all of them where none is there a day after the end, and none where none was made", () => {
    expect(goneAfter(2 * DAY + 1, { attempt_count: 3, completed_at: at(DAY) })).toBe(3);
    expect(goneAfter(2 * DAY + 1, { attempt_count: 0, completed_at: at(DAY) })).toBe(0);
  });

  test("are none of a delivery that is young: the answers of two requests may differ by an attempt", () => {
    expect(goneAfter(2, { attempt_count: 1 })).toBe(0);
    expect(goneAfter(2 * DAY, { attempt_count: 1, completed_at: at(DAY + 1) })).toBe(0);
  });

  test("are those before the oldest that is there: a replay goes on in their numbers", () => {
    expect(goneAfter(9 * DAY, { attempt_count: 5 }, [made(5, "retry", 9), made(4, "replay", 8)])).toBe(3);
    expect(goneAfter(9 * DAY, { attempt_count: 1 }, [attempt])).toBe(0);
  });
});

describe("the picture", () => {
  const stepsAt = (...seconds: number[]): Step[] =>
    seconds.map((one) => ({ kind: "cancelled", at: BEGIN + one * 1000 }));
  const lengths = (...seconds: number[]) =>
    place(stepsAt(...seconds)).map(({ length, isBreak }) => (isBreak ? "cut" : length));

  test("is true to scale where waits are alike", () => {
    expect(lengths(0, 10, 30, 80)).toEqual([1, 1, 2, 5]);
  });

  test("is cut where a wait is much longer, or much shorter, than those before", () => {
    expect(lengths(0, 5, 305, 2105)).toEqual([1, 1, "cut", 1]);
    expect(lengths(0, 3600, 3610, 3630)).toEqual([1, 1, "cut", 1]);
  });

  test("shows the whole usual schedule in a few groups", () => {
    let now = 0;
    const times = [0, 0, ...DEFAULT_SCHEDULE.map((wait) => (now += wait))];
    const placed = place(stepsAt(...times));
    expect(placed.filter(({ isBreak }) => isBreak).length).toBeLessThan(4);
    expect(Math.max(...placed.map(({ length }) => length))).toBeLessThanOrEqual(5);
  });
});

describe("the command", () => {
  test("gives a shell nothing to read in what strangers sent", async () => {
    const hostile = `'; touch /x; echo '$(id)\`id\`"\\\n!`;
    const command = curlOf({
      ...attempt,
      url: hostile,
      request_headers: { "x-a": hostile },
      request_body: hostile,
    });
    const shown = `curl() { printf '%s\\0' "$@"; }\n${command}`;
    const child = Bun.spawn(["bash", "-c", shown], { stdout: "pipe" });
    const words = (await child.stdout.text()).split("\0").slice(0, -1);
    expect(words).toEqual(["-X", "POST", hostile, "-H", `x-a: ${hostile}`, "--data-raw", hostile]);
  });

  test("leaves out what curl says by itself, and tells of hidden credentials", () => {
    const headers = { host: "a", "Content-Length": "2", "webhook-id": "msg_1", authorization: "***" };
    const sent = { ...attempt, request_headers: headers };
    expect(curlOf(sent)).not.toMatch(/host:|content-length/i);
    expect([isMasked(sent), isMasked(attempt)]).toEqual([true, false]);
  });
});

describe("what went wrong", () => {
  test.each(ATTEMPT_ERROR_CODES)("%s has its words in each language, from its row in src/core", (code) => {
    for (const words of [en, de]) {
      expect(Object.keys(words)).toContain(`explain.${code}.what`);
      expect(Object.keys(words)).toContain(`explain.${code}.next`);
    }
  });

  test.each([
    [
      "permission_missing",
      "sqs:SendMessage on arn:aws:sqs:a:1:b",
      "These credentials lack a permission: sqs:SendMessage on arn:aws:sqs:a:1:b",
    ],
    ["permission_missing", null, "These credentials may not write there."],
    ["token_unavailable", "invalid_grant", "No access token could be had: invalid_grant"],
    ["refused", "error 50002", "hooks.example.com did not take the message: error 50002"],
  ])("%s with %s stands in a sentence, also inside a 200", (code, detail, what) => {
    const failed = { ...attempt, status_code: 200, error_code: code, error_detail: detail };
    expect(explain(failed).what).toBe(what);
  });

  test("a code that is not known is a sentence still", () => {
    const unknown = { ...attempt, status_code: null, error_code: "brand_new" } as const;
    expect(explain({ ...unknown, outcome: "unreachable" }).what).toBe(
      "The connection to hooks.example.com broke.",
    );
    expect(explain({ ...unknown, outcome: "timeout" }).what).toContain("did not answer in time");
  });
});
