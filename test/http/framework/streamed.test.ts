/** How a streamed answer ends: complete, or cut, and once. */
import { expect, jest, test } from "bun:test";
import { type AnswerPieces, StreamedAnswer } from "../../../src/http/framework/streamed.ts";

const bytes = (size: number) => new Uint8Array(size);

/** An answer of such pieces, and what it said of its end. */
function stream(pieces: (Uint8Array<ArrayBuffer> | null | Error)[], patience: AnswerPieces["patience"]) {
  const ends: string[] = [];
  const source: AnswerPieces = {
    patience,
    next() {
      const piece = pieces.shift() ?? null;
      if (piece instanceof Error) throw piece;
      return piece;
    },
    end: () => void ends.push("pieces"),
  };
  const answer = new StreamedAnswer(source, () => void ends.push("answer"));
  return { answer, ends, reader: answer.body.getReader() };
}

const ONE_MINUTE = { ms: 60_000, of: "all" } as const;

test("an answer that is read ends complete, once, and is not cut any more", async () => {
  const { answer, ends, reader } = stream([bytes(3), bytes(2)], ONE_MINUTE);
  expect((await reader.read()).value?.length).toBe(3);
  expect([(await reader.read()).value?.length, ends]).toEqual([2, []]);
  expect([(await reader.read()).done, ends]).toEqual([true, ["pieces", "answer"]]);
  answer.cut("too late");
  expect(ends).toEqual(["pieces", "answer"]);
});

test("an answer whose piece cannot be made ends by that error", async () => {
  const { ends, reader } = stream([bytes(1), new Error("no more")], ONE_MINUTE);
  await reader.read();
  await expect(reader.read()).rejects.toThrow("no more");
  await reader.closed.catch(() => {});
  expect(ends).toEqual(["pieces", "answer"]);
});

test("an answer whose reader leaves, or that is cut, ends", async () => {
  const left = stream([bytes(1), bytes(1)], ONE_MINUTE);
  await left.reader.cancel();
  expect(left.ends).toEqual(["pieces", "answer"]);
  const cut = stream([bytes(1), bytes(1)], ONE_MINUTE);
  cut.answer.cut("there is no room");
  await expect(cut.reader.read()).rejects.toThrow("there is no room");
  expect(cut.ends).toEqual(["pieces", "answer"]);
});

test.each([
  ["all", 2],
  ["each piece", 4],
] as const)("a reader that takes a piece every 25 s has a minute for %s", async (of, taken) => {
  jest.useFakeTimers();
  try {
    const { ends, reader } = stream([bytes(1), bytes(1), bytes(1), bytes(1)], { ms: 60_000, of });
    let count = 0;
    for (let nth = 0; nth < 4; nth++) {
      jest.advanceTimersByTime(25_000);
      if (ends.length === 0 && (await reader.read()).value) count++;
    }
    expect(count).toBe(taken);
    reader.releaseLock();
  } finally {
    jest.useRealTimers();
  }
});
