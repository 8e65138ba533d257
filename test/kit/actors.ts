import { Actors, type ActorsParts } from "../../src/delivery/actors.ts";
import { Recorder } from "../../src/delivery/recorder.ts";
import type { Data } from "../../src/store/data.ts";

/** Actors that write what they find out, and tell nobody. */
export function makeActors(
  data: Data,
  parts: Pick<ActorsParts, "clock" | "send"> & Partial<ActorsParts>,
): { actors: Actors; recorder: Recorder } {
  const recorder = new Recorder(data, { clock: parts.clock, onAttempt: () => {} });
  return {
    actors: new Actors(data, { random: Math.random, attemptsMax: 1000, recorder, ...parts }),
    recorder,
  };
}
