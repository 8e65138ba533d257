// time budget: 150 s
/**
 * The wall clock jumps an hour forward and back while the service runs (libfaketime; the monotonic clock goes
 * on). Retries go by the wall clock: those that a jump makes due go out once, the others stay, and new events
 * go out at once.
 */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addEndpoint, clientOf } from "../durability/setup.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { type Service, startService } from "../kit/service.ts";
import { requireTool } from "../kit/tools.ts";

const HALF_AN_HOUR = 1800;
const TWO_HOURS = 7200;
const ENDPOINTS = 20;
/** Below the five failures in a row after which an endpoint backs off. */
const EVENTS_EACH = 4;
const FAILING = ENDPOINTS * EVENTS_EACH;
/** A timer looks at the wall clock at least once a minute; the rest is for the endpoints' own backing off. */
const NOTICED_MS_MAX = 90_000;
const QUIET_MS = 3000;

/** The clock of one process, set by a file that libfaketime reads at every call. */
class FakeClock {
  readonly #folder = mkdtempSync(join(tmpdir(), "sealpost-clock-"));
  readonly #file = join(this.#folder, "offset");

  constructor(readonly library: string) {
    this.set(0);
  }

  get env(): Record<string, string> {
    return {
      LD_PRELOAD: this.library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** Seconds before or after the machine's own clock. */
  set(offsetSeconds: number): void {
    writeFileSync(this.#file, offsetSeconds < 0 ? `${offsetSeconds}` : `+${offsetSeconds}`);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

function findLibrary(): string {
  const { stdout } = Bun.spawnSync(["faketime", "-f", "+0", "sh", "-c", 'printf %s "$LD_PRELOAD"']);
  return stdout.toString();
}

async function publish(service: Service, type: string, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, at) => ({ type, data: { token: `${type}-${at}` } }));
  expect((await clientOf(service).post("/v1/events/batch", { events })).status).toBe(202);
}

/** Every failure is written down, with the time of its retry. */
async function whenTried(service: Service): Promise<void> {
  const isTried = async () => {
    const { data } = (await clientOf(service).get("/v1/deliveries?status=retrying&limit=250")).json;
    return (data as object[]).length === FAILING;
  };
  while (!(await isTried())) await Bun.sleep(20);
}

/** New events are delivered at the first attempt, whatever the clock did, and through whatever limits. */
async function expectHealthy(service: Service, recorder: Recorder, endpointId: string): Promise<void> {
  const { received } = await recorder.counts("/healthy");
  await publish(service, "healthy", 20);
  await recorder.received("/healthy", received + 20);
  const waiting = `/v1/deliveries?endpoint_id=${endpointId}&status=retrying`;
  expect((await clientOf(service).get(waiting)).json["data"]).toEqual([]);
}

async function expectQuiet(recorder: Recorder, received: number): Promise<void> {
  await Bun.sleep(QUIET_MS);
  expect((await recorder.counts("/broken")).received).toBe(received);
}

test.skipIf(!requireTool("faketime", "apt-get install faketime"))(
  "clock jumps of an hour make no storm and stop nothing",
  async () => {
    const clock = new FakeClock(findLibrary());
    await using recorder = await startRecorder();
    await using service = await startService({ env: clock.env });
    const healthy = await addEndpoint(service, recorder.url("/healthy"), {
      event_types: ["healthy"],
      rate_limit_per_second: 50,
    });
    await expectHealthy(service, recorder, healthy);
    for (let nth = 0; nth < ENDPOINTS; nth++) {
      await addEndpoint(service, recorder.url("/broken?status=500"), {
        event_types: [`broken.${nth}`],
        retry: { schedule: [HALF_AN_HOUR, TWO_HOURS] },
      });
      await publish(service, `broken.${nth}`, EVENTS_EACH);
    }
    await whenTried(service);

    clock.set(3600);
    await expectHealthy(service, recorder, healthy);
    await recorder.received("/broken", 2 * FAILING, NOTICED_MS_MAX);
    await expectQuiet(recorder, 2 * FAILING);

    clock.set(0);
    await expectHealthy(service, recorder, healthy);
    await expectQuiet(recorder, 2 * FAILING);

    clock.set(-3600);
    await expectHealthy(service, recorder, healthy);
    await expectQuiet(recorder, 2 * FAILING);
    const receipts = Map.groupBy(await recorder.receipts(), ({ id }) => id);
    expect(Math.max(...[...receipts.values()].map((of) => of.length))).toBe(2);
    expect(await service.stop()).toBe(0);
    clock.remove();
  },
  140_000,
);
