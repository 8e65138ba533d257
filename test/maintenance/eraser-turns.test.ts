/** An erasure beside much that other projects have to remove. */
import { expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { startApi } from "../http/log-kit.ts";
import { jobControlOf } from "../kit/job-control.ts";

test("is not held up by what still hangs on events of other projects", async () => {
  await using api = await startApi();
  await api.endpoint({ url: api.receiver.url("wide") });
  const { id: wide } = await api.publish("a.b", { consumer_id: "ada" });
  await api.settled(wide);
  const eventId = api.data.ids.decode("evt", wide) ?? 0;
  const deliveryId =
    api.data.store.sqlite.query<{ id: number }, []>("SELECT id FROM delivery").get()?.id ?? 0;
  await api.data.store.write(() => {
    for (let n = 0; n < 20 * limit("sliceRows"); n++) api.data.notes.add(eventId, deliveryId, "replayed");
  });
  expect((await api.call("DELETE", `/v1/events/${wide}`)).status).toBe(204);
  // It is asked for while the job is at the rest of the others.
  const notes = () => api.data.store.sqlite.query("SELECT 1 FROM note").all().length;
  let slices = 0;
  let small: unknown;
  const rest = async () => {
    if (++slices !== 3) return;
    await api.publish("a.b", { consumer_id: "bert" }, "other");
    small = (await api.call("DELETE", "/v1/consumers/bert", undefined, "other")).json["id"];
  };
  await api.services.eraser.run(jobControlOf({ rest, isStopping: () => slices > 8 }));
  const { status } = await api.get<{ status: string }>(`/v1/erasures/${String(small)}`, "other");
  expect([status, notes() > 0]).toEqual(["completed", true]);
  await api.services.eraser.run(jobControlOf());
  expect(notes()).toBe(0);
});
