/** What all tests of a file share: there before the first of them, gone after the last. */
import { afterAll, beforeAll } from "bun:test";
import { type AppOptions, conformance, TestApp } from "./app.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { systemClock } from "../../src/platform/clock.ts";

export function appForFile({ env = {}, clock = systemClock }: AppOptions = {}): TestApp {
  const app = new TestApp(env, clock);
  beforeAll(async () => {
    await conformance();
    await app.start();
  });
  afterAll(() => app[Symbol.asyncDispose]());
  return app;
}

export function receiverForFile(): Receiver {
  const receiver = startReceiver();
  afterAll(() => receiver.close());
  return receiver;
}
