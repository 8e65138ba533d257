import { isDeepStrictEqual } from "node:util";
import { atOnce } from "../../src/core/structures/turn-queue.ts";
import { keyTime } from "../../src/core/ids.ts";
import { limit } from "../../src/core/limits.ts";
import { type Endpoint, ORIGINS, OUTCOMES, TRIGGERS } from "../../src/core/model.ts";
import { deliveriesOf, isAttemptOf } from "../../src/store/log/children.ts";
import { entriesOf } from "../kit/entries.ts";
import type { Seen } from "./receivers.ts";
import type { Simulation } from "./run.ts";
import { NOTE_KINDS } from "../../src/store/log/notes.ts";
import { wantsType } from "./scenario.ts";

const HANDED_OUT = OUTCOMES.indexOf("handed_out");
const DAY_MS = 86_400_000;
/** Tests, and replays of them: never metered, and sent when they are asked for. */
const TEST = ORIGINS.indexOf("test");
const isTest = (origin: number) => origin >= TEST;

interface DeliveryRow {
  id: number;
  event_id: number;
  endpoint_id: number;
  status: number;
  attempt_count: number;
  metered: number;
  generation: number;
  origin: number;
}

/** What must hold when everything has come to rest. */
export function check(run: Simulation): void {
  const deliveries = run.sqlite.query<DeliveryRow, []>("SELECT * FROM delivery ORDER BY id").all();
  acknowledgedIsStored(run, deliveries);
  everythingEnded(run, deliveries);
  endpointsAgree(run);
  oneForEach(run, deliveries);
  onlyTodaysDestinationDisables(run);
  deathsAreCounted(run, deliveries);
  arrivalsAreCounted(run, deliveries);
  deliveredMeansReceived(run, deliveries);
  nothingTwiceWithoutReason(run, deliveries);
  schedulesWereKept(run, deliveries);
  attemptsAreNumbered(run, deliveries);
  orderWasKept(run, deliveries);
  countsAgree(run, deliveries);
  tallyAgrees(run);
  replaysWereSent(run);
  retriesWereMade(run);
  replaysTookWhatMatched(run);
  listsAreComplete(run);
  whatHangsIsFound(run);
  countForgotten(run);
  run.erasures.requireWhole();
  run.erasures.check();
}

/** What everybody sees of an endpoint is what its row says. */
function endpointsAgree(run: Simulation): void {
  const { endpoints } = run.process.data;
  const rows = run.sqlite.query<Pick<Endpoint, "id" | "status" | "updatedAt"> & { config: string }, []>(
    "SELECT id, status, config, updated_at AS updatedAt FROM endpoint",
  );
  for (const { id, config, ...row } of rows.all()) {
    const known = endpoints.get(id);
    const seen = known && { status: known.status, updatedAt: known.updatedAt, config: known.config };
    const isSame = seen
      ? isDeepStrictEqual(seen, { ...row, config: JSON.parse(config) })
      : row.status === "deleted";
    if (!isSame) run.violate("an endpoint in memory is not what its row says");
  }
}

function acknowledgedIsStored(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  for (const [eventId, { expected, plannedAfter, projectId, type, consumerId }] of run.outside.acked) {
    const event = run.process.data.events.get(eventId);
    if (!event) {
      if (!run.erasures.isWanted(eventId, projectId, consumerId))
        run.violate(`event ${eventId} was acknowledged and is gone`);
      continue;
    }
    const own = deliveries.filter((delivery) => delivery.event_id === eventId);
    if (own.length !== event.deliveryCount)
      run.violate(`an event says ${event.deliveryCount} deliveries and has ${own.length}`);
    // Whoever asked for its end and got no answer has called off what was not written yet.
    const isCalledOff = run.erasures.isWanted(eventId, projectId, consumerId);
    const reached = new Set(own.map((delivery) => delivery.endpoint_id));
    for (const endpointId of expected) {
      const isGone = run.outside.deleted.has(endpointId) || wasGiven(run, endpointId, plannedAfter);
      if (!isCalledOff && !reached.has(endpointId) && !isGone)
        run.violate("an endpoint never got an event it subscribes to");
    }
    for (const endpointId of reached) {
      const endpoint = run.process.data.endpoints.getAnyway(endpointId);
      const mayBe = run.outside.late.has(endpointId) || wasGiven(run, endpointId, plannedAfter);
      const isWanted = endpoint?.projectId === projectId && wantsType(endpoint, type);
      if (!expected.has(endpointId) && !(mayBe && isWanted))
        run.violate("an endpoint got an event it does not subscribe to");
    }
  }
}

/** Given to another consumer after an event was planned. */
function wasGiven({ outside }: Simulation, endpointId: number, plannedAfter: number): boolean {
  return plannedAfter <= (outside.given.get(endpointId) ?? 0);
}

function isPoll(run: Simulation, endpointId: number): boolean {
  return run.process.data.endpoints.getAnyway(endpointId)?.kind === "poll";
}

function everythingEnded(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  const open = deliveries.filter((delivery) => delivery.status < 2);
  for (const delivery of open) {
    const id = delivery.endpoint_id;
    const status = run.process.data.endpoints.getAnyway(id)?.status;
    // What nobody acknowledges waits for ever.
    if (isPoll(run, id) && status === "active" && !run.pollers.acknowledges(id)) continue;
    run.violate(`delivery ${delivery.id} is stuck; its endpoint is ${status}`);
  }
  const timers = atOnce(run.process.actors.counts());
  if (timers.queued > 0 || timers.inFlight > 0)
    run.violate(`actors still hold ${timers.queued} and have ${timers.inFlight} in flight`);
}

/** At all addresses that the endpoint has had. */
function seenBy(run: Simulation, endpointId: number): Seen[] {
  return (run.paths.get(endpointId) ?? []).flatMap((path) => run.receivers.seen.get(path) ?? []);
}

function takenOf(run: Simulation, delivery: DeliveryRow): number {
  const seen = seenBy(run, delivery.endpoint_id);
  const id = run.process.data.ids.encode("msg", delivery.id);
  return seen.filter((one) => one.id === id && one.answer === 200).length;
}

/** An event has one delivery for an endpoint, unless somebody asked for another message. */
function oneForEach(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  const pairs = deliveries.map((delivery) => `${delivery.event_id}:${delivery.endpoint_id}`);
  const seen = new Set<string>();
  for (const pair of pairs) {
    if (seen.has(pair) && !run.outside.renewed.has(pair))
      run.violate("an endpoint has an event twice, under two ids");
    seen.add(pair);
  }
}

/** A 410 disables the endpoint whose address gave it, and that nobody opened again since it was asked for. */
function onlyTodaysDestinationDisables(run: Simulation): void {
  for (const id of run.endpoints) {
    const endpoint = run.process.data.endpoints.get(id);
    if (endpoint?.status !== "disabled" || endpoint.disabledReason !== "gone") continue;
    if (!run.watch.gone.has(id)) run.violate("an endpoint is disabled by what was answered before");
  }
}

/** What is counted as delivered at an endpoint arrived once, and once more each time it was opened again. */
function arrivalsAreCounted(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  const one = (sql: string) => run.sqlite.query<{ n: number | null }, []>(sql).get()?.n ?? 0;
  const counted = one("SELECT sum(delivered) AS n FROM stat");
  const failed = one("SELECT sum(failed) AS n FROM stat");
  const arrived = deliveries.filter(({ status }) => status === 2).length;
  const opened = one("SELECT count(*) AS n FROM note WHERE kind = 0");
  const erased = run.erasures.countGone("attempt");
  if (counted > arrived + opened + erased)
    run.violate(
      `${counted} deliveries are counted that arrived, ${arrived} did and ${opened} were opened again`,
    );
  if (counted < arrived) run.violate(`${counted} deliveries are counted that arrived, ${arrived} did`);
  const rejected = one(`SELECT count(*) AS n FROM attempt WHERE outcome NOT IN (0, ${HANDED_OUT})`);
  if (failed < rejected || failed > rejected + erased)
    run.violate(`${failed} failures are counted, ${rejected} attempts failed`);
}

/** What is counted as dead at an endpoint died there once, or was opened again since. */
function deathsAreCounted(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  const countsOf = (sql: string) =>
    new Map(
      run.sqlite
        .query<{ id: number; n: number }, []>(`${sql} GROUP BY 1`)
        .all()
        .map(({ id, n }) => [id, n]),
    );
  const atEndpoint = "JOIN delivery d ON d.id = r.delivery_id";
  const counted = countsOf("SELECT endpoint_id AS id, sum(dead) AS n FROM stat");
  const reopened = countsOf(
    `SELECT d.endpoint_id AS id, count(*) AS n FROM note r ${atEndpoint} WHERE r.kind = 0`,
  );
  // By hand what is dead may still arrive.
  const byHand = countsOf(
    `SELECT d.endpoint_id AS id, count(*) AS n FROM attempt r ${atEndpoint} WHERE trigger = ${TRIGGERS.indexOf("manual")}`,
  );
  const erased = run.erasures.countGone("note 0") + run.erasures.countGone("delivery");
  for (const [id, deaths] of counted) {
    const own = deliveries.filter((delivery) => delivery.endpoint_id === id);
    const dead = own.filter(({ status }) => status === 3).length;
    // So may what was on its way when its endpoint was disabled.
    const arrived = own.filter(({ status, generation }) => status === 2 && generation > 0).length;
    const most = dead + (reopened.get(id) ?? 0) + (byHand.get(id) ?? 0) + arrived + erased;
    if (deaths > most) run.violate(`${deaths} deaths are counted at an endpoint, ${dead} are dead`);
  }
}

function deliveredMeansReceived(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  for (const delivery of deliveries) {
    if (delivery.status === 2 && takenOf(run, delivery) === 0)
      run.violate("a delivery is delivered that no receiver took");
  }
}

function nothingTwiceWithoutReason(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  if (run.outside.crashes > 0 || run.faults.lostAfter) return;
  for (const delivery of deliveries) {
    const isFetched = isPoll(run, delivery.endpoint_id);
    if (!isFetched && !run.outside.touched.has(delivery.id) && takenOf(run, delivery) > 1)
      run.violate("a receiver took a delivery twice for no reason");
  }
}

interface AttemptRow {
  id: number;
  number: number;
  trigger: number;
  started_at: number;
  duration_ms: number;
  outcome: number;
  next_attempt_at: number | null;
}

function attemptsOf(run: Simulation, deliveryId: number): AttemptRow[] {
  return run.sqlite
    .query<AttemptRow, [number]>("SELECT * FROM attempt WHERE delivery_id = ? ORDER BY id")
    .all(deliveryId);
}

function schedulesWereKept(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  for (const delivery of deliveries) {
    if (run.outside.touched.has(delivery.id)) continue;
    const endpoint = run.process.data.endpoints.getAnyway(delivery.endpoint_id);
    if (!endpoint) continue;
    const usual = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
    const schedule = delivery.origin === TEST ? [] : (endpoint.retry?.schedule ?? usual);
    const attempts = attemptsOf(run, delivery.id);
    if (attempts.length > schedule.length + 1)
      run.violate(`${attempts.length} attempts on a schedule of ${schedule.length}`);
    const exhausted =
      delivery.status === 3 && attempts.length > 0 && attempts.every((attempt) => attempt.outcome <= 3);
    const gone = run.sqlite
      .query("SELECT 1 FROM attempt WHERE delivery_id = ? AND status_code = 410")
      .get(delivery.id);
    const disposed = run.sqlite.query("SELECT 1 FROM note WHERE delivery_id = ?").get(delivery.id);
    if (exhausted && !gone && !disposed && attempts.length !== schedule.length + 1) {
      run.violate(`a delivery is dead after ${attempts.length} of ${schedule.length + 1} attempts`);
    }
    if (!run.faults.clockJumps) waitsWereKept(run, endpoint.id, attempts, schedule);
  }
}

function waitsWereKept(
  run: Simulation,
  endpointId: number,
  attempts: readonly AttemptRow[],
  schedule: readonly number[],
): void {
  attempts.forEach((attempt, at) => {
    const before = attempts[at - 1];
    if (!before) return;
    const endedAt = before.started_at + before.duration_ms;
    const waited = attempt.started_at - endedAt;
    const wait = (schedule[at - 1] ?? 0) * 1000;
    if (waited < wait * 0.9 - 2)
      run.violate(`the ${at + 1}th attempt came after ${waited} ms, its schedule says ${wait}`);
    // One of them is a whole number of milliseconds.
    const isEarly = before.next_attempt_at !== null && attempt.started_at < before.next_attempt_at - 1;
    if (isEarly && !run.watch.wasOpened(endpointId, endedAt - 2, attempt.started_at + 2))
      run.violate("an attempt came before next_attempt_at");
  });
}

function attemptsAreNumbered(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  for (const delivery of deliveries) {
    const numbers = attemptsOf(run, delivery.id).map((attempt) => attempt.number);
    const expected = numbers.map((_, at) => at + 1);
    if (numbers.join() !== expected.join() || numbers.length !== delivery.attempt_count) {
      run.violate(`attempts are numbered ${numbers.join()} and counted ${delivery.attempt_count}`);
    }
  }
}

/** Where order is kept, a delivery is never tried after a later one was. */
function orderWasKept(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  // What somebody asked for again, or had missed, comes when it is asked for; so does a test.
  const replayed = run.sqlite.query<{ id: number }, []>("SELECT delivery_id AS id FROM note WHERE kind = 0");
  const asked = new Set([...run.outside.touched, ...replayed.all().map(({ id }) => id)]);
  for (const endpointId of run.endpoints) {
    const endpoint = run.process.data.endpoints.getAnyway(endpointId);
    // What pollers get is looked at page by page, and who came to keep the order attempt by attempt.
    if (endpoint?.ordering !== "fifo" || endpoint.kind === "poll") continue;
    if (run.outside.reordered.has(endpointId)) continue;
    const own = deliveries.filter(
      (one) => one.endpoint_id === endpointId && !asked.has(one.id) && !isTest(one.origin),
    );
    const keyOf = new Map(own.map((one) => [run.process.data.ids.encode("msg", one.id), one.id]));
    const seen = seenBy(run, endpointId).sort((a, b) => a.sent - b.sent);
    const order = seen.flatMap((one) => keyOf.get(one.id) ?? []);
    if (order.some((key, at) => key < (order[at - 1] ?? 0)))
      run.violate("an endpoint that keeps order got deliveries out of order");
  }
}

function countsAgree(run: Simulation, deliveries: readonly DeliveryRow[]): void {
  const { sqlite } = run;
  const one = (sql: string) => sqlite.query<{ n: number | null }, []>(sql).get()?.n ?? 0;
  const attempts = one(
    `SELECT count(*) AS n FROM attempt a JOIN delivery d ON d.id = delivery_id JOIN endpoint ON endpoint.id = endpoint_id WHERE outcome <> ${HANDED_OUT}`,
  );
  const tallyOf = (table: string) =>
    one(`SELECT sum(value ->> 1) AS n FROM ${table}, json_each(${table}.durations)`);
  const tallied = tallyOf("stat");
  const numbersOf = (table: string) =>
    one(`SELECT sum(delivered * 1000000 + failed) AS n FROM ${table}`) + tallyOf(table);
  if (numbersOf("project_stat") !== numbersOf("stat"))
    run.violate("a project's hourly numbers are not the sum of its endpoints'");
  // Erased ones stay in the numbers, unless a crash came before they were written down.
  const erased = run.erasures.countGone("attempt");
  const least = run.outside.crashes > 0 ? attempts : attempts + erased;
  if (tallied < least || tallied > attempts + erased)
    run.violate(`${attempts} attempts and ${erased} erased, ${tallied} in the hourly numbers`);
  const metered = one("SELECT sum(deliveries) AS n FROM usage");
  const tried = deliveries.filter(
    ({ id, origin }) =>
      !isTest(origin) && attemptsOf(run, id).some(({ outcome }) => outcome <= 3 || outcome === HANDED_OUT),
  ).length;
  const replays = one("SELECT count(*) AS n FROM note WHERE kind = 0") + run.erasures.countGone("note 0");
  const most = tried + replays + run.erasures.countGone("delivery");
  if (metered < tried || metered > most)
    run.violate(`${metered} metered, between ${tried} and ${most} were tried`);
}

/** What is counted in memory is what the rows say, at any moment. */
export function tallyAgrees(run: Simulation): void {
  backlogAgrees(run);
  chartsAgree(run);
}

/**
 * What charts show, of which a part stands in the tables and a part in memory, is never more than was tried.
 */
function chartsAgree(run: Simulation): void {
  const { index } = run.process.data;
  const one = (sql: string) => run.sqlite.query<{ n: number | null }, []>(sql).get()?.n ?? 0;
  let shown = one("SELECT sum(delivered + failed) AS n FROM project_stat");
  for (const projectId of run.projects)
    for (const [, { delivered, failed }] of index.recentHoursOfProject(projectId))
      shown += delivered + failed;
  const tried = one("SELECT count(*) AS n FROM attempt") + run.erasures.countGone("attempt", true);
  if (shown > tried) run.violate(`${tried} attempts, ${shown} in the charts`);
}

/** What the metrics call the backlog. */
function backlogAgrees(run: Simulation): void {
  const { data } = run.process;
  const rows = run.sqlite.query<{ n: number }, []>(
    "SELECT count(*) AS n FROM delivery WHERE due IS NOT NULL",
  );
  const due = rows.get()?.n ?? 0;
  if (data.tally.waiting !== due) run.violate(`${data.tally.waiting} deliveries are due, ${due} by the rows`);
}

/** By hand: what was answered is made, or there is nothing to try any more. */
function retriesWereMade(run: Simulation): void {
  if (run.process.data.askedRetries.all().length > 0)
    run.violate("a retry by hand was answered and never made");
  run.retries.check();
  run.trials.check();
}

/**
 * A replay is sent afresh, whatever an attempt of before was still finding out; unless somebody ended
 * it first.
 */
function replaysWereSent(run: Simulation): void {
  if (run.faults.clockJumps) return;
  for (const { id, at } of run.outside.replayed) {
    const sent = attemptsOf(run, id).some((attempt) => attempt.started_at >= at);
    const delivery = run.process.data.deliveries.get(id);
    // An attempt of before may arrive after the replay was cancelled.
    const wasCancelled = run.sqlite
      .query("SELECT 1 FROM note WHERE delivery_id = ? AND kind = ?")
      .get(id, NOTE_KINDS.indexOf("cancelled"));
    // An erasure that a crash cut short, before it was answered, has ended what was open.
    const wasErased = delivery === null || run.erasures.asked.events.has(delivery.eventId);
    const ended = wasErased || delivery.status === "dead" || wasCancelled !== null;
    if (!sent && !ended) run.violate("a replay was acknowledged and never sent");
  }
}

/** A bulk replay has places for what matched when it was asked for, and takes nothing else. */
function replaysTookWhatMatched(run: Simulation): void {
  const rows = run.sqlite.query<{ matched: number; replayed: number; status: string }, []>(
    "SELECT matched, replayed, status FROM replay",
  );
  for (const { matched, replayed, status } of rows.all()) {
    if (replayed > matched) run.violate(`a replay took ${replayed} of ${matched} that matched`);
    if (status !== "completed") run.violate(`a replay is ${status} when all is at rest`);
  }
}

function listsAreComplete(run: Simulation): void {
  const { sqlite } = run;
  const listed = entriesOf(sqlite);
  const isListed = (list: number, id: number) => listed.get(list)?.has(id) ?? false;
  const events = sqlite.query<{ id: number; list: number }, []>("SELECT id, project_id AS list FROM event");
  if (!events.all().every(({ id, list }) => isListed(list, id)))
    run.violate("an event is missing in the project's list");
  const deliveries = sqlite.query<{ id: number; list: number }, []>(
    "SELECT id, endpoint_id AS list FROM delivery",
  );
  if (!deliveries.all().every(({ id, list }) => isListed(list, id)))
    run.violate("a delivery is missing in its endpoint's list");
}

/** What has no index of its own is found all the same. */
function whatHangsIsFound(run: Simulation): void {
  const deliveries = `SELECT id FROM delivery d WHERE NOT EXISTS (${deliveriesOf("d.event_id", "1", { where: "id = d.id" })})`;
  if (run.sqlite.query(deliveries).get()) run.violate("a delivery is not found by its event");
  const attempts = `SELECT id FROM attempt a
    WHERE NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.id = a.id AND ${isAttemptOf("a.delivery_id")})`;
  if (run.sqlite.query(attempts).get()) run.violate("an attempt is not found by its delivery");
}

/** What left the caches on the way; after a crash, or a jump of the clock, nobody can tell. */
function countForgotten(run: Simulation): void {
  if (run.outside.crashes > 0 || run.faults.clockJumps) return;
  const labels = run.sqlite.query<{ n: number }, []>("SELECT count(*) AS n FROM label").get()?.n ?? 0;
  if (labels > limit("labelsCachedMax")) run.tally.labelsForgotten++;
  // Each is stored once a day, while it is remembered.
  const heads = run.sqlite.query<{ id: number; text: string }, []>("SELECT id, text FROM head").all();
  const days = heads.map(({ id, text }) => `${Math.floor(keyTime(id) / DAY_MS)} ${text}`);
  if (new Set(days).size < days.length) run.tally.headsForgotten++;
}
