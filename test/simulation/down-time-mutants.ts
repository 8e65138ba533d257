import type { Mutant } from "./mutants.ts";

/** Of the time in which nothing ran. */
export const DOWN_TIME_MUTANTS: readonly Mutant[] = [
  {
    name: "time in which the service is down counts for an endpoint",
    file: "delivery/actors.ts",
    find: "return from + this.clock.downSince(from);",
    put: "return from;",
  },
  {
    name: "the start after the next one knows nothing of a down time",
    file: "delivery/steady.ts",
    find: "if (downTimes !== kept.down) meta.setText(DOWN, downTimes);",
    put: "",
  },
  {
    name: "what passes over a start is no down time",
    file: "delivery/steady.ts",
    find: "let seen = passed || clock.now();",
    put: "let seen = passed && clock.now();",
  },
];
