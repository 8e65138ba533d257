import { expect, test } from "bun:test";
import { keyTime } from "../../../src/core/ids.ts";
import { replayOf } from "../../../src/http/replays/shape.ts";
import { everyOne } from "../../../src/store/log/replays.ts";
import { startApi } from "../log-kit.ts";

test("a replay is shown with its public id, and its times as texts", async () => {
  await using api = await startApi();
  const { replays, store, ids } = api.data;
  const job = {
    projectId: 1,
    consumerId: null,
    filter: everyOne(["dead"]),
    matched: 2,
    position: 0,
    last: 0,
  };
  const made = await store.write(() => replays.insert(job));
  const ended = { ...made, status: "completed", replayed: 2, completedAt: 1000 } as const;
  expect(replayOf({ ids }, ended)).toEqual({
    id: ids.encode("rpl", made.id),
    status: "completed",
    matched: 2,
    replayed: 2,
    created_at: new Date(keyTime(made.id)).toISOString(),
    completed_at: "1970-01-01T00:00:01.000Z",
  });
});
