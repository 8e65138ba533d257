/**
 * The thread that checkpoints: the first message is the database's path, then each asks for a checkpoint or
 * the end.
 */
import { openCheckpointer } from "./store/checkpoint.ts";

declare const self: Worker;

let checkpointer: ReturnType<typeof openCheckpointer> | null = null;

self.addEventListener("message", ({ data }: MessageEvent<string>) => {
  if (checkpointer === null) checkpointer = openCheckpointer(data);
  else if (data === "run") self.postMessage(checkpointer.run());
  else {
    checkpointer.close();
    process.exit();
  }
});
