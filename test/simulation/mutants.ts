import { BY_HAND_MUTANTS } from "./by-hand-mutants.ts";
import { CROWDED_MUTANTS } from "./crowded-mutants.ts";
import { DOWN_TIME_MUTANTS } from "./down-time-mutants.ts";
import { PARKED_MUTANTS } from "./parked-mutants.ts";
import { REASON_MUTANTS } from "./reason-mutants.ts";

/**
 * Bugs on purpose. Each is one change of the source's text, put in while a module is loaded (mutate.ts), so
 * that the program itself holds no hooks for tests. The simulation has to find every one of them.
 */
export interface Mutant {
  name: string;
  file: string;
  find: string;
  put: string;
}

export const MUTANTS: readonly Mutant[] = [
  ...REASON_MUTANTS,
  ...BY_HAND_MUTANTS,
  ...PARKED_MUTANTS,
  ...DOWN_TIME_MUTANTS,
  {
    name: "an event of a polled endpoint goes before those that wait for the plan",
    file: "pipeline/pipeline.ts",
    find: "return isQueued ? keepsOrder : null;",
    put: 'return isQueued ? ({ ordering }) => ordering === "fifo" : null;',
  },
  {
    name: "a retry by hand that was answered is not made after a crash",
    file: "delivery/retries.ts",
    find: "for (const id of this.data.askedRetries.all()) this.#again.set(id, this.#statusOf(id));",
    put: "",
  },
  {
    name: "a retry by hand is answered before it is on disk",
    file: "delivery/retries.ts",
    find: "this.data.askedRetries.add(deliveryId);",
    put: "void deliveryId;",
  },
  {
    name: "a retry is forgotten: the delivery does not go back into the queue",
    file: "delivery/backlog.ts",
    find: "      this.#replace(id, change.due);",
    put: "      this.#replace(id, null);",
  },
  {
    name: "one commit in fifty is acknowledged and rolled back",
    file: "store/store.ts",
    find: "this.commit.run();",
    put: "(this.commits % 50 === 49 ? this.rollback : this.commit).run();",
  },
  {
    name: "recovery skips deliveries that wait for a retry",
    file: "store/log/deliveries.ts",
    find: "WHERE due IS NOT NULL AND queue_order IS NULL ORDER BY due",
    put: "WHERE due IS NOT NULL AND queue_order IS NULL AND status = 0 ORDER BY due",
  },
  {
    name: "hourly numbers stay in memory a moment longer than they have been in the tables",
    file: "store/index/index.ts",
    find: "if (this.#openSlice) this.#forget(this.#openSlice);",
    put: "const passed = this.#openSlice;\n    if (passed) void this.store.write(() => {}).then(() => this.#forget(passed));",
  },
  {
    name: "an attempt that a cancelled delivery was still making counts as its death",
    file: "delivery/recorder.ts",
    find: "(isApplied && change?.deadReason) || null",
    put: "change?.deadReason ?? null",
  },
  {
    name: "an endpoint that was disabled is told of after a later change of the same transaction",
    file: "delivery/recorder.ts",
    find: "if (disabled) endpoints.announce(disabled);",
    put: "for (let n = 0; n < 3; n++) await null; if (disabled) endpoints.announce(disabled);",
  },
  {
    name: "a delivery that is cancelled stays in the backlog of the metrics",
    file: "store/log/deliveries.ts",
    find: "this.#changeWait(before, null);",
    put: "this.#changeWait(null, null);",
  },
  {
    name: "the schedule is one step ahead",
    file: "core/retry.ts",
    find: "const wait = schedule[step - 1];",
    put: "const wait = schedule[step];",
  },
  {
    name: "signs with a secret that has expired",
    file: "delivery/compiled-endpoint.ts",
    find: "endpoint.previous.expiresAt > now",
    put: "endpoint.previous.expiresAt > 0",
  },
  {
    name: "sends while the endpoint is paused",
    file: "delivery/actor.ts",
    find: 'else if (this.endpoint.status === "paused") this.#enter({ mode: "paused" });',
    put: "",
  },
  {
    name: "starts more at once than the endpoint takes",
    file: "delivery/actor.ts",
    find: "return one ? 1 : this.endpoint.maxConcurrency;",
    put: "return one ? 1 : this.endpoint.maxConcurrency + 1;",
  },
  {
    name: "does not wait for retry-after",
    file: "delivery/actor.ts",
    find: "return Math.max(gateOf(this.health), this.#shortUntil);",
    put: "return Math.max(this.health.backoffUntil, this.#shortUntil);",
  },
  {
    name: "a break that was asked for outlives the move, for what was tried before",
    file: "delivery/actor.ts",
    find: "const change = deliveryAfter(start, sent, at);",
    put: "const change = deliveryAfter(start, sent, at);\n    if (change?.due) change.due = Math.max(change.due, gateOf(health));",
  },
  {
    name: "a delivery that is busy may be sent once more",
    file: "delivery/actor.ts",
    find: 'if (this.#flights.has(load.delivery.id)) return "busy";',
    put: "",
  },
  {
    name: "meters retries",
    file: "delivery/recorder.ts",
    find: "if (metered && !delivery.metered)",
    put: "if (metered)",
  },
  {
    name: "a slice of the index is not remembered after a crash",
    file: "store/index/recovery.ts",
    find: "const { mark, cutOff } = data.index;",
    put: "const { cutOff } = data.index;\n  const mark = data.store.keys.last;",
  },
  {
    name: "numbers that were written down before a crash cut off the others are counted again",
    file: "store/index/recovery.ts",
    find: "const isCounted = cutOff !== null && row.id <= cutOff.to && endpointId <= cutOff.endpointId;",
    put: "const isCounted = false;",
  },
  {
    name: "order is given up while an outcome is on its way to the disk",
    file: "delivery/actor.ts",
    find: 'return this.endpoint.ordering === "fifo" ? inSlots : scheduled;',
    put: "return scheduled;",
  },
  {
    name: "what an attempt of before found out undoes a replay",
    file: "store/log/deliveries.ts",
    find: "WHERE id = $id AND generation = $generation",
    put: "WHERE id = $id AND generation >= 0 * $generation",
  },
  {
    name: "the deliveries of a disabled endpoint are left lying",
    file: "delivery/actor.ts",
    find: "return this.#disposeSlice(state);",
    put: "return;",
  },
  {
    name: "an outcome is lost when the disk is full",
    file: "store/store.ts",
    find: "if (write.kept) this.#waiting.push(write);",
    put: "if (write.kept) continue;",
  },
  {
    name: "a delivery that is reopened while its outcome is on its way to the disk is not looked at again",
    file: "delivery/backlog.ts",
    find: 'if (change === null || readsRow || recorded === "overtaken") this.reload(id);',
    put: 'if (change === null || recorded === "overtaken") this.reload(id);',
  },
  {
    name: "a delivery that is cancelled keeps its place",
    file: "store/log/deliveries.ts",
    find: "const before = this.#beginChange(id, null);",
    put: "const before = this.get(id);",
  },
  {
    name: "an event of which nothing waits for the plan any more counts as waiting",
    file: "store/log/deliveries.ts",
    find: "this.parts.waitingEvents.leave(before);",
    put: "{}",
  },
  {
    name: "what waits for the plan is forgotten by a crash while it is let go",
    file: "pipeline/releaser.ts",
    find: "if (deliveries.awaitingOf(eventId, 1).length === 0) waitingEvents.delete(accountId, eventId);",
    put: "for (const one of waitingEvents.above(accountId, 0, 1000)) waitingEvents.delete(accountId, one);",
  },
  {
    name: "places that are taken are forgotten at the end of the process",
    file: "store/counts/meter.ts",
    find: "if (taken !== 0 || awaited !== 0 || events !== 0)",
    put: "if (events !== 0)",
  },
  {
    name: "the attempts of an erased event stay",
    file: "store/cleanup/removal.ts",
    find: "      this.#statements.dropAttempt.run(id);\n",
    put: "",
  },
  {
    name: "what hangs on an erased event is forgotten where it is more than a slice",
    file: "store/cleanup/removal.ts",
    find: "this.#statements.keep.run(eventId, event.project_id);",
    put: "",
  },
  {
    name: "an erasure is not taken up after a crash once its endpoints are closed",
    file: "store/cleanup/erasures.ts",
    find: "WHERE status = 'running' AND project_id = ? ORDER BY id LIMIT 1",
    put: "WHERE status = 'running' AND project_id = ? AND events = 0 ORDER BY id LIMIT 1",
  },
  {
    name: "an erasure is answered and an endpoint that was made in the meantime is not closed",
    file: "maintenance/eraser.ts",
    find: "while (erasures.hasOpen(erasure)) rest.push(this.#closeSlice(erasure));",
    put: "",
  },
  {
    name: "an erasure that is asked for while another of the consumer runs is that one",
    file: "store/cleanup/erasures.ts",
    find: "    const last = this.store.takeKey();\n",
    put: "    const last = this.store.takeKey();\n    const all = this.list(projectId, Number.MAX_SAFE_INTEGER, 1000);\n    const running = all.find((one) => one.consumerId === consumerId && one.status === 'running');\n    if (running) return running;\n",
  },
  {
    name: "an erasure that has begun is the one that is asked for again",
    file: "store/cleanup/erasures.ts",
    find: "AND id > (SELECT min(id) FROM erasure WHERE project_id = ?2",
    put: "AND id >= (SELECT min(id) FROM erasure WHERE project_id = ?2",
  },
  {
    name: "a link is let in while its consumer is erased",
    file: "store/resources/portal-links.ts",
    find: '${leavesWithConsumer("portal_link")}',
    put: "0",
  },
  {
    name: "an erasure takes what came after it was asked for",
    file: "maintenance/eraser.ts",
    find: ".filter((key) => key <= erasure.last)",
    put: "",
  },
  {
    name: "an erased event is still sent",
    file: "maintenance/eraser.ts",
    find: "for (const { endpointId, id } of held) this.parts.actors.forget(endpointId, id);",
    put: "",
  },
  {
    name: "an attempt that was under way is written of an erased delivery",
    file: "delivery/recorder.ts",
    find: 'if (settled === "gone") return { applied: false, disabled, nextAttemptAt: null };',
    put: "",
  },
  {
    name: "an erased event is gone before its deliveries are closed",
    file: "store/cleanup/removal.ts",
    find: "for (const { id } of open) this.parts.deliveries.cancel(id);",
    put: "",
  },
  {
    name: "list entries that are still in memory are written of an erased event",
    file: "store/index/index.ts",
    find: "    await this.#running;\n    await this.writeDown();",
    put: "    await this.#running;",
  },
  {
    name: "an event overtakes a wide one that is still being written, where order is kept",
    file: "pipeline/pipeline.ts",
    find: "endpoints.some(keepsOrder) && this.#data.fanouts.isPending(this.projectId)",
    put: "false",
  },
  {
    name: "what waits follows a wall clock that is set back",
    file: "platform/clock.ts",
    find: "now: () => Math.floor(offset + wall.elapsed()),",
    put: "now: () => Math.floor(wall.now()),",
  },
  {
    name: "the lead of the clock is forgotten by a crash",
    file: "store/meta.ts",
    find: "return row?.value ?? 0;",
    put: "return 0;",
  },
  {
    name: "what is under way is dead with its endpoint",
    file: "delivery/backlog.ts",
    find: "busyToo || !this.flights.has(id)",
    put: "true",
  },
  {
    name: "a delivery that arrives once more by hand is counted again",
    file: "delivery/recorder.ts",
    find: 'delivered: outcome === "delivered" && !isAgain,',
    put: 'delivered: outcome === "delivered",',
  },
  {
    name: "after a crash a delivery that had arrived once more by hand is counted again",
    file: "store/index/recovery.ts",
    find: "const delivered = !failed && row.is_again === 0;",
    put: "const delivered = !failed;",
  },
  {
    name: "two replays of what is missing make two deliveries of one event",
    file: "pipeline/replayer.ts",
    find: "if (await this.#hasDelivery(key, endpoint, turns)) continue;",
    put: "",
  },
  {
    name: "what waits is ended of an endpoint that was enabled meanwhile",
    file: "store/log/disposal.ts",
    find: 'endedBy(endpoints.current(delivery.endpointId) ?? { status: "deleted" });',
    put: 'endpoints.current(delivery.endpointId) ? "dead" : "cancelled";',
  },
  {
    name: "an endpoint that was given to another consumer gets the events of the one before",
    file: "pipeline/new-delivery.ts",
    find: "return event.isTest ? endpoint.consumerId === event.consumerId : mayGet(endpoint, event);",
    put: "return true;",
  },
  {
    name: "the projects do not take turns in the line of the dispatcher",
    file: "delivery/dispatcher.ts",
    find: "this.#rota.pass(projectId, goesOn);",
    put: "if (!goesOn) this.#rota.pass(projectId, goesOn);",
  },
  {
    name: "a poller gets again what it acknowledged",
    file: "delivery/polling/poller.ts",
    find: "if (!acknowledged) await",
    put: "if (!acknowledged && ask.position < 0) await",
  },
  {
    name: "a poll that waits does not hear of what comes",
    file: "delivery/polling/poll-actor.ts",
    find: "first[0]();",
    put: "return;",
  },
  {
    name: "places that others give back are not looked for",
    file: "pipeline/releaser.ts",
    find: "() => this.start());",
    put: "() => {});",
  },
  {
    name: "a refill leaves out what is tried by hand, where order is kept too",
    file: "delivery/backlog.ts",
    find: 'return this.endpoint.ordering === "none" && this.flights.has(id);',
    put: "return this.flights.has(id);",
  },
  {
    name: "that the wall clock was set is written only while a delivery waits",
    file: "delivery/steady.ts",
    find: "const keep = () =>",
    put: "const keep = () =>\n    tally.waiting > 0 &&",
  },
  {
    name: "a test that finds no attempt is nobody's",
    file: "delivery/actor.ts",
    find: 'if (refusal !== null && trigger === "test") this.#own(load.delivery);',
    put: "",
  },
  {
    name: "a first attempt under way loses its place with its delivery",
    file: "store/log/deliveries.ts",
    find: "if (before) this.parts.meter.leaveToFirst(before);",
    put: "",
  },
  {
    name: "what waits for the plan is written for an endpoint that was deleted meanwhile",
    file: "pipeline/new-delivery.ts",
    find: "const ending = endedBy(endpoint);",
    put: 'const ending = endpoint.status === "deleted" ? null : endedBy(endpoint);',
  },
  ...CROWDED_MUTANTS,
];
