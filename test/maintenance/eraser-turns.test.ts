/** An erasure beside much that other projects have to remove. */
import { expect, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import { type Api, startApi } from "../http/log-kit.ts";
import { jobControlOf } from "../kit/job-control.ts";

/** An event of a consumer on which very many notes hang; answers its id. */
async function publishNoted(api: Api): Promise<string> {
  await api.endpoint({ url: api.receiver.url("noted") });
  const { id: wide } = await api.publish("a.b", { consumer_id: "ada" });
  await api.settled(wide);
  const eventId = api.data.ids.decode("evt", wide) ?? 0;
  const deliveryId =
    api.data.store.sqlite.query<{ id: number }, []>("SELECT id FROM delivery").get()?.id ?? 0;
  await api.data.store.write(() => {
    for (let n = 0; n < 20 * limit("sliceRows"); n++) api.data.notes.add(eventId, deliveryId, "replayed");
  });
  return wide;
}

const notesOf = (api: Api) => api.data.store.sqlite.query("SELECT 1 FROM note").all().length;

test("an erasure is not held up by what still hangs on events of other projects", async () => {
  await using api = await startApi();
  expect((await api.call("DELETE", `/v1/events/${await publishNoted(api)}`)).status).toBe(204);
  // It is asked for while the job is at the rest of the others.
  let slices = 0;
  let small: unknown;
  const rest = async () => {
    if (++slices !== 3) return;
    await api.publish("a.b", { consumer_id: "bert" }, "other");
    small = (await api.call("DELETE", "/v1/consumers/bert", undefined, "other")).json["id"];
  };
  await api.services.eraser.run(jobControlOf({ rest, isStopping: () => slices > 8 }));
  const { status } = await api.get<{ status: string }>(`/v1/erasures/${String(small)}`, "other");
  expect([status, notesOf(api) > 0]).toEqual(["completed", true]);
  await api.services.eraser.run(jobControlOf());
  expect(notesOf(api)).toBe(0);
});

test("an erasure waits for what was being removed before projects were kept", async () => {
  await using api = await startApi();
  await publishNoted(api);
  const { id } = (await api.call("DELETE", "/v1/consumers/ada")).json;
  const isDone = async () =>
    (await api.get<{ status: string }>(`/v1/erasures/${String(id)}`)).status === "completed";
  const left: number[] = [];
  const rest = async () => {
    api.data.store.sqlite.run("UPDATE removal SET project_id = 0");
    if (await isDone()) left.push(notesOf(api));
  };
  await api.services.eraser.run(jobControlOf({ rest }));
  expect([await isDone(), left.filter((notes) => notes > 0)]).toEqual([true, []]);
});
