/** The thread that checkpoints: the first message is the database's path, each further one asks for a checkpoint. */
import { type CheckpointResult, openCheckpointer } from "./store/checkpoint.ts";

declare const self: Worker;

let checkpoint: (() => CheckpointResult) | null = null;

self.addEventListener("message", ({ data }: MessageEvent<string>) => {
  if (checkpoint === null) checkpoint = openCheckpointer(data);
  else self.postMessage(checkpoint());
});
