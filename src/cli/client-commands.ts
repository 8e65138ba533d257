import type { Command } from "commander";
import type { ListenOptions } from "../client/listen.ts";
import type { LoginOptions } from "../client/login.ts";
import type { TableName, TableOptions } from "../client/tables.ts";
import type { TriggerOptions } from "../client/trigger.ts";
import type { VerifyRequestOptions } from "../client/verify.ts";
import type { Calls } from "./calls.ts";

/** Commands that talk to an installation over its public API. What each of them does is loaded as it runs. */
export function addClientCommands(program: Command, calls: Calls): void {
  addLogin(program, calls);
  addTrigger(program, calls);
  addListen(program, calls);
  addVerify(program, calls);
  addTables(program, calls);
}

const PROFILE = ["--profile <name>", "Of the installation that was logged in to by this name."] as const;

function addLogin(program: Command, calls: Calls): void {
  calls
    .command(program, "login", "[--url URL] [--profile NAME] [--list] [--json]")
    .description(
      "Keep where an installation is, and a key of a project there, which is read from standard input; the other commands talk to it then. Several have a name each.",
    )
    .option("--url <url>", "Where it is. Default: SEALPOST_URL, else http://localhost:8080.")
    .option("--profile <name>", "The name to keep it by. Default: default.")
    .option("--list", "Print what is kept.")
    .option("--json", "Print JSON.")
    .action(calls.does<LoginOptions>(async (call) => (await import("../client/login.ts")).runLogin(call)));
  calls
    .command(program, "logout", "[--profile NAME]")
    .description("Forget an installation and its key. The key stays valid until it is revoked.")
    .option("--profile <name>", "The name that it is kept by. Default: default.")
    .action(
      calls.does<{ profile?: string }>(async (call) => (await import("../client/login.ts")).runLogout(call)),
    );
}

function addTrigger(program: Command, calls: Calls): void {
  calls
    .command(program, "trigger", "TYPE [--data JSON|@FILE|@-] [--consumer ID] [--external-id ID] [--json]")
    .description("Publish one event of this type.")
    .argument("<type>")
    .option("--data <json>", "The event's data: JSON, or @ and the file that holds it. Default: {}.")
    .option("--consumer <id>", "The consumer that it is for.")
    .option("--external-id <id>", "Your own id of it: an event with this id is not accepted again.")
    .option(...PROFILE)
    .option("--json", "Print the answer as JSON.")
    .action(
      calls.does<TriggerOptions>(async (call) => (await import("../client/trigger.ts")).runTrigger(call)),
    );
}

function addListen(program: Command, calls: Calls): void {
  const usage = "--forward URL [--types TYPES] [--source SOURCE] [--body] [--json]";
  calls
    .command(program, "listen", usage)
    .description(
      "Forward each delivery to a receiver on this machine, byte for byte with its signature, and show what it answers. It fetches what happens from now on by an endpoint of its own, which is gone at the end. At a terminal, r sends the last one again, b shows its bodies, q ends.",
    )
    .option(
      "--forward <url>",
      "The receiver, such as http://localhost:3000/hook; a number is a port of this machine.",
    )
    .option("--types <types...>", "Types of events: names, invoice.* or *. Default: all.")
    .option("--source <source>", "Only what this source received: its id or name.")
    .option("--body", "Show the bodies of each.")
    .option(...PROFILE)
    .option("--json", "Print each as JSON, one a line.")
    .action(calls.does<ListenOptions>(async (call) => (await import("../client/listen.ts")).runListen(call)));
}

function addVerify(program: Command, calls: Calls): void {
  const usage = "[FILE | --headers FILE --body FILE] [--secret SECRET|@FILE] [--at TIME] [--json]";
  calls
    .command(program, "verify", usage)
    .description(
      "Say whether a captured request is genuine: valid, or why not (no header, wrong signature, too old, too new, malformed secret). It asks no installation. A FILE holds the whole request; - and nothing are standard input.",
    )
    .argument("[file]")
    .option("--headers <file>", "Its headers, one a line or as a JSON object.")
    .option("--body <file>", "The exact bytes of its body.")
    .option("--secret <secret>", "whsec_…, for v1a whpk_…, or @ and a file. Default: WEBHOOK_SECRET.")
    .option("--at <time>", "Judge its age as at this time of RFC 3339. Default: now.")
    .option("--tolerance <seconds>", "How old it may be. Default: 300.")
    .option("--json", 'Print `{"verdict": …, "detail": …}`.')
    .action(
      calls.does<VerifyRequestOptions>(async (call) => (await import("../client/verify.ts")).runVerify(call)),
    );
}

/** What narrows a table down. */
const FILTERS = {
  type: ["--type <type>", "Of this type: a name, invoice.* or *."],
  status: [
    "--status <status>",
    "With a delivery in this state: pending, retrying, delivered, dead, cancelled.",
  ],
  ownStatus: ["--status <status>", "In this state: pending, retrying, delivered, dead, cancelled."],
  endpointStatus: ["--status <status>", "active, paused or disabled."],
  consumer: ["--consumer <id>", "Of this consumer."],
  source: ["--source <id>", "That came in by this source."],
  endpoint: ["--endpoint <id>", "To this endpoint."],
  event: ["--event <id>", "Of this event."],
  kind: ["--kind <kind>", "Of this kind, such as http or poll."],
  search: ["--search <text>", "That this text stands in."],
} as const;

function addTables(program: Command, calls: Calls): void {
  const add = (name: TableName, about: string, filters: readonly (keyof typeof FILTERS)[]) => {
    const command = calls.command(program, name, "[options] [--limit COUNT] [--json]").description(about);
    for (const filter of filters) {
      const [flags, meaning] = FILTERS[filter];
      command.option(flags, meaning);
    }
    command
      .option("--limit <count>", "How many are shown at most. Default: 25.")
      .option(...PROFILE)
      .option("--json", "Print each as JSON, with all its fields, one a line.")
      .action(
        calls.does<TableOptions>(async (call) => (await import("../client/tables.ts")).runTable(name, call)),
      );
  };
  add("events", "The newest events, as a table.", ["type", "status", "consumer", "source", "search"]);
  const ofDeliveries = ["type", "ownStatus", "consumer", "endpoint", "event", "search"] as const;
  add("deliveries", "The newest deliveries, as a table.", ofDeliveries);
  add("endpoints", "The newest endpoints, as a table.", ["endpointStatus", "kind", "consumer", "search"]);
  add("sources", "The newest sources, as a table.", []);
}
