import { describe, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { createLogger, writeOrLose } from "../../src/platform/log.ts";

function capture(level: Parameters<typeof createLogger>[0]) {
  let text = "";
  let now = Date.UTC(2026, 10, 21, 9);
  const logger = createLogger(
    level,
    (part) => {
      text += part;
    },
    () => now++,
  );
  return {
    logger,
    lines() {
      logger.flush();
      return text
        .trimEnd()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    text: () => text,
  };
}

describe("a line of the log", () => {
  test("is one JSON object with instant, level, message and fields", () => {
    const log = capture("info");
    log.logger.log("info", 'a "quoted"\nmessage', {
      number: 1,
      text: "x\ny",
      nothing: null,
      left_out: undefined,
    });
    log.logger.log("warn", "bare");
    expect(log.lines()).toEqual([
      {
        ts: "2026-11-21T09:00:00.000Z",
        level: "info",
        msg: 'a "quoted"\nmessage',
        number: 1,
        text: "x\ny",
        nothing: null,
      },
      { ts: "2026-11-21T09:00:00.001Z", level: "warn", msg: "bare" },
    ]);
  });

  test("below the least level is not written", () => {
    const log = capture("warn");
    log.logger.log("info", "quiet");
    log.logger.log("error", "loud");
    expect(log.lines().map((line) => line["msg"])).toEqual(["loud"]);
    const silent = capture("silent");
    silent.logger.log("error", "nobody hears");
    expect(silent.lines()).toEqual([]);
  });

  test("never carries what looks like a credential", () => {
    const log = capture("info");
    const secrets = [
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      "sp_live_00abc",
      "spl_00abc",
      "Bearer abc.def",
      "whsk_6Xb/dCc=",
    ];
    for (const secret of secrets) log.logger.log("info", `with ${secret}`, { field: secret });
    expect(log.lines().length).toBe(secrets.length);
    for (const secret of secrets) expect(log.text()).not.toContain(secret);
  });
});

describe("a log that cannot be written", () => {
  /** As standard output behaves: an error goes to the write and to whoever listens. */
  class Output extends EventEmitter {
    text = "";
    isFull = false;
    writableLength = 0;

    write(text: string, done?: unknown): boolean {
      const error = this.isFull ? new Error("ENOSPC") : null;
      if (error === null) this.text += text;
      (done as (error: Error | null) => void)(error);
      if (error !== null) this.emit("error", error);
      return true;
    }
  }

  test("loses lines, and says how many once it can be written again, once", () => {
    const output = new Output();
    const told: number[] = [];
    const write = writeOrLose(output as never, (lines) => void told.push(lines));
    write("a\n");
    output.isFull = true;
    write("b\nc\n");
    output.isFull = false;
    output.writableLength = 8 * 1024 * 1024;
    write("d\n");
    expect(told).toEqual([]);
    output.writableLength = 0;
    write("e\n");
    write("f\n");
    expect([output.text, told]).toEqual(["a\ne\nf\n", [3]]);
  });
});
