import { spyOn } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Api } from "./log-kit.ts";

/** Makes calls whose writes are all in one transaction, in the order of the calls. */
export function togetherAt({ data: { store } }: Pick<Api, "data">) {
  return async <Results extends unknown[]>(
    ...calls: { [At in keyof Results]: () => Promise<Results[At]> }
  ): Promise<Results> => {
    const writes = spyOn(store, "writeFor");
    const begun: Promise<unknown>[] = [];
    await store.holdCommits(async () => {
      for (const call of calls) {
        begun.push(call());
        while (writes.mock.calls.length < begun.length) await nextTurn();
      }
    });
    writes.mockRestore();
    return Promise.all(begun) as Promise<Results>;
  };
}
