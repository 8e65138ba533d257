/** `sealpost listen` as a newcomer meets it: in a real terminal, with its keys and colours. */
import { expect, test } from "bun:test";
import { MAIN } from "../cli/kit.ts";
import { startReceiver, verifyDelivery } from "../kit/receiver.ts";
import { startService } from "../kit/service.ts";
import { hasTmux, Terminal } from "../kit/terminal.ts";
import { endpointsOf, personAt, publish } from "./listening.ts";

const sealpost = `${process.execPath} ${MAIN}`;
const GREEN = "\u001b[32m";
const RED = "\u001b[31m";

const SCREEN = `Listening at http://service. Each delivery goes to http://receiver/hook, signed with
  whsec_…
r sends the last one again, b shows its bodies, q ends.
00:00:00  order.paid  msg_…  500  1 ms
  > {"type":"order.paid","timestamp":"…","data":{"total":990}}
  < taken 1
00:00:00  order.paid  msg_…  200  1 ms  again
$ echo ended with $?
ended with 0
$`;

/** The screen without what differs from run to run. */
function asKept(screen: string, port: string): string {
  return screen
    .replaceAll(/whsec_\S+/g, "whsec_…")
    .replaceAll(/msg_\w+/g, "msg_…")
    .replaceAll(/\d\d:\d\d:\d\d/g, "00:00:00")
    .replaceAll(/\d+ ms/g, "1 ms")
    .replaceAll(/"timestamp":"[^"]*"/g, '"timestamp":"…"')
    .replaceAll(/127\.0\.0\.1:\d+/g, (text) => (text.endsWith(`:${port}`) ? "service" : "receiver"))
    .trimEnd();
}

test.skipIf(!hasTmux)(
  "a newcomer's first webhook: shown live, its bodies on demand, sent again, and gone",
  async () => {
    await using service = await startService();
    await using receiver = startReceiver();
    receiver.at("hook", (_, nth) => new Response(`taken ${nth}`, { status: nth === 1 ? 500 : 200 }));
    using person = personAt(service);
    await using terminal = await Terminal.open(person.env);
    await terminal.type(`clear; ${sealpost} listen --forward ${receiver.url("hook")}`);
    await terminal.shows("q ends.");
    await publish(service, "order.paid", { total: 990 });
    await terminal.shows(/order\.paid .* 500/);
    await terminal.press("b");
    await terminal.shows("< taken 1");
    await terminal.press("r");
    await terminal.shows(/order\.paid .* 200 .*again/);
    const colours = await terminal.screen(true);
    expect([colours.includes(`${GREEN}200`), colours.includes(`${RED}500`)]).toEqual([true, true]);
    const [first, second] = receiver.requests("hook");
    expect(second?.body).toEqual(first?.body as Buffer);
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"] ?? "");
    const secret = /whsec_\S+/.exec(await terminal.screen())?.[0] ?? "";
    expect(second && verifyDelivery(second, secret)).toMatchObject({ type: "order.paid" });
    await terminal.press("q");
    await terminal.prompts();
    await terminal.type("echo ended with $?");
    const screen = await terminal.shows("ended with 0");
    expect(asKept(screen, new URL(service.url).port)).toBe(SCREEN);
    expect(await endpointsOf(service)).toEqual([]);
  },
);

test.skipIf(!hasTmux)("Ctrl-C ends it too, and NO_COLOR takes the colours away", async () => {
  await using service = await startService();
  await using receiver = startReceiver();
  using person = personAt(service);
  await using terminal = await Terminal.open({ ...person.env, NO_COLOR: "1" });
  await terminal.type(`clear; ${sealpost} listen --forward ${receiver.url("hook")}`);
  await terminal.shows("q ends.");
  await publish(service, "order.paid");
  await terminal.shows(/order\.paid .* 204/);
  expect(await terminal.screen(true)).not.toContain(GREEN);
  await terminal.press("C-c");
  await terminal.prompts();
  await terminal.type("echo ended with $?");
  await terminal.shows("ended with 0");
  expect(await endpointsOf(service)).toEqual([]);
});
