import type { Checkpointer, CheckpointResult } from "../store/checkpoint.ts";

/**
 * Starts the thread of checkpointer.ts, which lies at `url`. `fail` is told when it ends by itself: without
 * it the WAL would grow for ever.
 */
export function startCheckpointThread(
  url: URL,
  path: string,
  fail: (error: Error) => void,
): Checkpointer & { stop(): Promise<void> } {
  const worker = new Worker(url);
  const waiting: ((result: CheckpointResult | null) => void)[] = [];
  let stopping = false;
  const end = (reason: string) => {
    if (!stopping) fail(new Error(`the checkpoint thread ended: ${reason}`));
  };
  worker.addEventListener("message", ({ data }: MessageEvent<CheckpointResult | null>) =>
    waiting.shift()?.(data),
  );
  worker.addEventListener("error", ({ message }) => end(message));
  const closed = new Promise<void>((resolve) => {
    worker.addEventListener("close", () => {
      end("closed");
      resolve();
    });
  });
  worker.unref();
  worker.postMessage(path);
  return {
    run: (mode) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        worker.postMessage(mode);
      }),
    stop() {
      stopping = true;
      // Not terminate(): that answers before the thread's connection is closed.
      worker.postMessage("stop");
      return closed;
    },
  };
}
