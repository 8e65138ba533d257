/**
 * The thread that checkpoints: the first message is the database's path, then each is the mode of a
 * checkpoint, or asks for the end.
 */
import { openCheckpointer } from "./store/checkpoint.ts";

declare const self: Worker;

let checkpointer: ReturnType<typeof openCheckpointer> | null = null;

self.addEventListener("message", ({ data }: MessageEvent<string>) => {
  if (checkpointer === null) checkpointer = openCheckpointer(data);
  else if (data === "PASSIVE" || data === "TRUNCATE") self.postMessage(checkpointer.run(data));
  else {
    checkpointer.close();
    process.exit();
  }
});
