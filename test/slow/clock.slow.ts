// time budget: 150 s
/**
 * The wall clock is set back and ahead, by an hour and by a day, and put right each time, while the service
 * runs (libfaketime; the monotonic clock goes on). What waits goes when it was told to by the time that has
 * passed, not earlier and not much later, and new events go out at once.
 */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addEndpoint, clientOf } from "../durability/setup.ts";
import { type Recorder, startRecorder } from "../kit/recorder.ts";
import { type Service, startService } from "../kit/service.ts";
import { requireTool } from "../kit/tools.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;
const TWO_HOURS = 2 * HOUR;
/** The wait of a retry that comes while the test runs. */
const SOON = 70;
const ENDPOINTS = 20;
/** Below the five failures in a row after which an endpoint backs off. */
const EVENTS_EACH = 4;
const FAILING = ENDPOINTS * EVENTS_EACH;
/** A job reads the clock every five seconds. */
const NOTICED_MS = 6000;
/** A wait is within ten per cent of its schedule, and then the endpoint is left alone for some seconds. */
const LATE_MS_MAX = 1.1 * SOON * 1000 + 15_000;

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
async function whenTried(service: Service, count: number): Promise<void> {
  const isTried = async () => {
    const { data } = (await clientOf(service).get("/v1/deliveries?status=retrying&limit=250")).json;
    return (data as object[]).length === count;
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

test.skipIf(!requireTool("faketime", "apt-get install faketime"))(
  "a clock that is set, and put right, makes no storm, holds nothing up and lets nothing go early",
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
        retry: { schedule: [TWO_HOURS] },
      });
      await publish(service, `broken.${nth}`, EVENTS_EACH);
    }
    await addEndpoint(service, recorder.url("/asks?status=429&retry_after=1800"), { event_types: ["asks"] });
    await publish(service, "asks", 1);
    await addEndpoint(service, recorder.url("/soon?status=500"), {
      event_types: ["soon"],
      retry: { schedule: [SOON] },
    });
    await whenTried(service, FAILING + 1);
    await publish(service, "soon", EVENTS_EACH);

    // Three hours back and then right is more than what waits has to wait.
    for (const offset of [HOUR, 0, -HOUR, 0, DAY, 0, -DAY, 0, -3 * HOUR, 0]) {
      clock.set(offset);
      await Bun.sleep(NOTICED_MS);
      await expectHealthy(service, recorder, healthy);
      expect((await recorder.counts("/broken")).received).toBe(FAILING);
      expect((await recorder.counts("/asks")).received).toBe(1);
    }
    await recorder.received("/soon", 2 * EVENTS_EACH, LATE_MS_MAX);
    const receipts = Map.groupBy(
      (await recorder.receipts()).filter(({ path }) => path === "/soon"),
      ({ id }) => id,
    );
    for (const [first, second] of receipts.values())
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(0.9 * SOON * 1000);
    expect((await recorder.counts("/broken")).received).toBe(FAILING);
    expect((await recorder.counts("/asks")).received).toBe(1);
    expect(await service.stop()).toBe(0);
    clock.remove();
  },
  140_000,
);
