import { join } from "node:path";
import { startApp } from "../../src/app.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createLogger } from "../../src/platform/log.ts";

/** The service in this process, so that its event loop can be watched. */
export class LocalService {
  private constructor(
    private readonly url: string,
    private readonly key: string,
    readonly stop: () => Promise<void>,
  ) {}

  /** Starts it on an empty data directory below `directory`, without limits of rates. */
  static async start(directory: string): Promise<LocalService> {
    const read = readConfig({
      SEALPOST_HOST: "127.0.0.1",
      SEALPOST_PORT: "0",
      SEALPOST_DATA_DIR: join(directory, "data"),
      SEALPOST_ALLOW_PRIVATE_DESTINATIONS: "127.0.0.0/8",
      SEALPOST_PUBLISH_RATE_LIMIT: "0",
      SEALPOST_MANAGEMENT_RATE_LIMIT: "0",
    });
    if (!read.ok) throw new Error(read.problems.join("\n"));
    const logger = createLogger("info", () => {}, Date.now);
    const fail = (error: Error) => {
      throw error;
    };
    let key = "";
    const announce = ({ live }: { live: string }) => {
      key = live;
    };
    const app = await startApp(read.config, { clock: systemClock, logger, announce, fail });
    return new LocalService(app.url, key, app.stop);
  }

  async post(path: string, body: string): Promise<void> {
    const response = await fetch(this.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json" },
      body,
    });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  }
}
