import type { Limit } from "./limits.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** What bounds the answers that are written, or on their way to whoever reads them. */
export const ANSWER_LIMITS = {
  smallAnswerBytesMax: {
    value: 32 * KIB,
    unit: "bytes",
    why: "An answer that is no larger goes out in one piece: the kernel takes so much for a connection at once, whether it is read or not.",
  },
  answersInFlightBytesMax: {
    value: 128 * MIB,
    unit: "bytes",
    why: "Larger answers, over all requests, from their text to their end; above it one of whoever has the most is refused with 503, or cut.",
  },
  accountAnswersBytesMax: {
    value: 64 * MIB,
    unit: "bytes",
    why: "The same of one account, its portal links and its pollers included: nobody takes all of it, and 16 pages of pollers of the largest size fit.",
  },
  answerSendMs: {
    value: 60_000,
    unit: "ms",
    why: "A larger answer is sent within that, or cut: a reader of a page of 4 MiB takes 70 KB a second, and one that takes a byte now and then gains nothing.",
  },
  exportsAtOnceMax: {
    value: 10,
    unit: "count",
    why: "Exports that one caller may have under way: each holds a connection and a page for as long as its reader takes.",
  },
  exportStallMs: {
    value: 60_000,
    unit: "ms",
    why: "A reader of an export that takes nothing for so long is cut off: it holds a connection and a page.",
  },
  pageBytesMax: {
    value: MIB,
    unit: "bytes",
    why: "A page of a list ends once it is that large: an attempt of a large event has a megabyte, and the loop writes a page in one turn.",
  },
} as const satisfies Record<string, Limit>;
