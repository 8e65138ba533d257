import type { Actors } from "../delivery/actors.ts";
import type { Retries } from "../delivery/retries.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Releaser } from "../pipeline/releaser.ts";
import type { Replayer } from "../pipeline/replayer.ts";
import type { Data } from "../store/data.ts";
import { recoverIndex } from "../store/index/recovery.ts";

interface Parts {
  data: Pick<Data, "store" | "events" | "deliveries" | "tally" | "index">;
  pipeline: Pipeline;
  actors: Actors;
  retries: Retries;
  replayer: Replayer;
  releaser: Releaser;
}

/** Takes up what the process before left open; at start, before anything is accepted. */
export async function restore({ data, pipeline, actors, retries, replayer, releaser }: Parts): Promise<void> {
  // Before the actors: what lies above its mark is in no index that they look into.
  await recoverIndex(data);
  for (const part of [pipeline, actors, retries, replayer, releaser]) part.recover();
  data.tally.recover();
  releaser.start();
}
