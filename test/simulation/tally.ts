import { FAULT_NAMES } from "./receivers.ts";
import { MET_NAMES } from "./scenario.ts";

/** What is counted over runs: how often each fault struck, and how often each bound was met. */
export const COUNTED = [...FAULT_NAMES, ...MET_NAMES, "downForDays"] as const;
export type Tally = Record<(typeof COUNTED)[number], number>;

export const newTally = () => Object.fromEntries(COUNTED.map((name) => [name, 0])) as Tally;
