import { Argument, type Command, Option } from "commander";
import type { QueueOptions } from "../client/bridge/messages.ts";
import type { PostgresOptions } from "../client/bridge/sources/postgres.ts";
import type { RabbitmqOptions } from "../client/bridge/sources/rabbitmq.ts";
import type { ImportOptions } from "../client/import/import.ts";
import type { ServiceOptions } from "../client/import/service.ts";
import type { ConvoyOptions } from "../client/import/sources/convoy.ts";
import type { OutpostOptions } from "../client/import/sources/outpost.ts";
import type { CreateKeyOptions } from "../client/keys.ts";
import type { ListenOptions } from "../client/listen.ts";
import type { LoginOptions } from "../client/login.ts";
import type { ReplayOptions } from "../client/replay.ts";
import type { TableName, TableOptions } from "../client/tables.ts";
import type { TailOptions } from "../client/tail.ts";
import type { TriggerOptions } from "../client/trigger.ts";
import type { VerifyRequestOptions } from "../client/verify.ts";
import type { Calls } from "./calls.ts";

/** Commands that talk to an installation over its public API. What each of them does is loaded as it runs. */
export function addClientCommands(program: Command, calls: Calls): void {
  addLogin(program, calls);
  addTrigger(program, calls);
  addListen(program, calls);
  addTail(program, calls);
  addReplay(program, calls);
  addVerify(program, calls);
  addKeys(program, calls);
  addBridge(program, calls);
  addImport(program, calls);
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

function addTail(program: Command, calls: Calls): void {
  calls
    .command(program, "tail", "[events] [deliveries] [refusals] [--json]")
    .description(
      "Show what happens from now on, a line for each: events that are accepted, the last 250 deliveries as they change, and what sources refuse. Without a word: all three.",
    )
    .addArgument(new Argument("[what...]").choices(["events", "deliveries", "refusals"]))
    .option(...PROFILE)
    .option("--json", "Print each as JSON, one a line.")
    .action(calls.does<TailOptions>(async (call) => (await import("../client/tail.ts")).runTail(call)));
}

function addReplay(program: Command, calls: Calls): void {
  calls
    .command(program, "replay", "ID... [--endpoint ID] [--new-message-id] | [options]")
    .description(
      "Send again: each event (evt_…) to the endpoints that had it, each delivery (msg_…) at once. Without ids: all deliveries with what the options say, and wait for the end.",
    )
    .argument("[id...]")
    .addOption(
      new Option("--status <status...>", "With deliveries in these states. Default: dead.").choices(STATUSES),
    )
    .option("--endpoint <id>", "To this endpoint.")
    .option("--consumer <id>", "Of this consumer.")
    .option("--types <types...>", "Of these types: names, invoice.* or *.")
    .option("--since <time>", "Of events that were accepted at this time of RFC 3339, or later.")
    .option("--until <time>", "Of events that were accepted before this time.")
    .option("--missing", "Events that the endpoint would have got, but never had.")
    .option("--rate <count>", "How many a second.")
    .option("--dry-run", "Say how many there are, and send nothing.")
    .option("--new-message-id", "Of an event: as new messages, which no receiver drops as known.")
    .option(...PROFILE)
    .option("--json", "Print JSON.")
    .action(calls.does<ReplayOptions>(async (call) => (await import("../client/replay.ts")).runReplay(call)));
}

function addKeys(program: Command, calls: Calls): void {
  const keys = calls
    .command(program, "keys", "[command]")
    .description("The keys of a project, by one with the scope full.");
  const load = () => import("../client/keys.ts");
  calls
    .command(keys, "create", "NAME [--scopes SCOPES] [--expires-at TIME] [--project ID] [--json]")
    .description("Make a key. What is printed is the key alone, and this once.")
    .argument("<name>")
    .addOption(
      new Option("--scopes <scopes...>", "What it may do. Default: full.").choices([
        "full",
        "publish",
        "read",
      ]),
    )
    .option("--expires-at <time>", "When it ends, a time of RFC 3339. Default: never.")
    .option("--project <id>", "Of this project, where SEALPOST_API_KEY is the operator's token.")
    .option(...PROFILE)
    .option("--json", "Print the answer as JSON.")
    .action(calls.does<CreateKeyOptions>(async (call) => (await load()).runCreateKey(call)));
  addTable(keys, calls, { name: "keys", word: "list", about: "The keys, as a table.", filters: [] });
  calls
    .command(keys, "revoke", "ID...")
    .description("Revoke keys at once.")
    .argument("<id...>")
    .option(...PROFILE)
    .action(calls.does<{ profile?: string }>(async (call) => (await load()).runRevokeKeys(call)));
}

function addBridge(program: Command, calls: Calls): void {
  const parent = calls
    .command(program, "bridge", "[command]")
    .description(
      "Publish what a database or a queue holds, until a signal. What is published is removed there, and only then: nothing is lost, and what comes again is known by its id.",
    );
  calls
    .command(parent, "postgres", "[--table NAME] [--interval SECONDS] | --print-table")
    .description(
      "From a table of PostgreSQL that an application writes events to in its own transactions. DATABASE_URL holds the address of the database.",
    )
    .option("--table <name>", "The table, with its schema if need be. Default: sealpost_outbox.")
    .option("--interval <seconds>", "How often an empty table is looked at. Default: 1.")
    .option("--print-table", "Print the statement that makes the table, and end.")
    .option(...PROFILE)
    .action(
      calls.does<PostgresOptions>(async (call) =>
        (await import("../client/bridge/sources/postgres.ts")).runBridgePostgres(call),
      ),
    );
  const rabbitmq = calls
    .command(parent, "rabbitmq", "QUEUE [--type TYPE | --envelope] [--refused QUEUE] [--without-ids]")
    .description("From a queue of RabbitMQ. AMQP_URL holds the address of the server.")
    .argument("<queue>");
  withQueueOptions(rabbitmq, "that of the message, else its routing key")
    .option("--refused <queue>", "Where what is refused goes. Default: the queue's name and .refused.")
    .option("--without-ids", "Publish what has no message_id too: what comes again is another event then.")
    .action(
      calls.does<RabbitmqOptions>(async (call) =>
        (await import("../client/bridge/sources/rabbitmq.ts")).runBridgeRabbitmq(call),
      ),
    );
  addSqs(parent, calls);
}

function addSqs(parent: Command, calls: Calls): void {
  const sqs = calls
    .command(parent, "sqs", "URL [--type TYPE | --envelope]")
    .description(
      "From a queue of Amazon SQS, with the credentials that the environment or the machine's role has.",
    )
    .argument("<url>");
  withQueueOptions(sqs, "the message's attribute type").action(
    calls.does<QueueOptions>(async (call) =>
      (await import("../client/bridge/sources/sqs.ts")).runBridgeSqs(call),
    ),
  );
}

function withQueueOptions(command: Command, type: string): Command {
  return command
    .option("--type <type>", `The type of all events, whose data is the message's body. Default: ${type}.`)
    .addOption(
      new Option("--envelope", "Bodies are what POST /v1/events takes: {type, data, …}.").conflicts("type"),
    )
    .option(...PROFILE);
}

function addImport(program: Command, calls: Calls): void {
  const parent = calls
    .command(program, "import", "[command]")
    .description(
      "Bring endpoints and event types along from another service. It says what it would do; --apply does it. Again it brings what has changed there since.",
    );
  const ndjson = calls
    .command(parent, "ndjson", "[FILE] [--apply] [--json]")
    .description("From a file with one JSON object a line; - and nothing are standard input.")
    .argument("[file]");
  withImportOptions(ndjson).action(
    calls.does<ImportOptions>(async (call) =>
      (await import("../client/import/sources/ndjson.ts")).runImportNdjson(call),
    ),
  );
  addService(parent, calls, {
    name: "svix",
    about:
      "From Svix: applications as consumers, endpoints with their secrets and headers, event types with their schemas. SVIX_AUTH_TOKEN holds the token; without --from its region says where Svix is.",
  }).action(
    calls.does<ServiceOptions>(async (call) =>
      (await import("../client/import/sources/svix.ts")).runImportSvix(call),
    ),
  );
  addService(parent, calls, {
    name: "outpost",
    about:
      "From Outpost: tenants as consumers, destinations that are webhooks with their secrets and headers, topics. OUTPOST_API_KEY holds the key.",
  })
    .option("--tenant <id...>", "Only these. Outpost lists all of them only where its Redis can search.")
    .action(
      calls.does<OutpostOptions>(async (call) =>
        (await import("../client/import/sources/outpost.ts")).runImportOutpost(call),
      ),
    );
  addService(parent, calls, {
    name: "convoy",
    about:
      "From a project of Convoy: endpoints with the types that they subscribe to, owners as consumers, event types with their schemas. CONVOY_API_KEY holds the key.",
  })
    .option("--project <id>", "The project's id in Convoy.")
    .action(
      calls.does<ConvoyOptions>(async (call) =>
        (await import("../client/import/sources/convoy.ts")).runImportConvoy(call),
      ),
    );
}

function addService(
  parent: Command,
  calls: Calls,
  { name, about }: { name: string; about: string },
): Command {
  const body = new Option(
    "--body <form>",
    "What receivers get: data alone, as they get it there, or the envelope {type, timestamp, data}. Default: data.",
  ).choices(["data", "envelope"]);
  const command = calls
    .command(parent, name, "[--from URL] [options] [--apply] [--json]")
    .description(about)
    .option("--from <url>", "The address of its API.")
    .addOption(body)
    .option("--records", "Print what is found, with secrets, for sealpost import ndjson; ask no Sealpost.");
  return withImportOptions(command);
}

function withImportOptions(command: Command): Command {
  return command
    .option("--apply", "Write it. Default: say what would be written.")
    .option(...PROFILE)
    .option("--json", "Print each step as JSON, one a line, and the sum.");
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

const STATUSES = ["pending", "retrying", "delivered", "dead", "cancelled"] as const;

/** What narrows a table down. */
const FILTERS = {
  type: new Option("--type <type>", "Of this type: a name, invoice.* or *."),
  status: new Option("--status <status>", "With a delivery in this state.").choices(STATUSES),
  ownStatus: new Option("--status <status>", "In this state.").choices(STATUSES),
  endpointStatus: new Option("--status <status>", "In this state.").choices(["active", "paused", "disabled"]),
  consumer: new Option("--consumer <id>", "Of this consumer."),
  source: new Option("--source <id>", "That came in by this source."),
  endpoint: new Option("--endpoint <id>", "To this endpoint."),
  event: new Option("--event <id>", "Of this event."),
  kind: new Option("--kind <kind>", "Of this kind, such as http or poll."),
  search: new Option("--search <text>", "That this text stands in."),
} as const;

interface TableCommand {
  name: TableName;
  /** The command's own word, where that is not the name of the table. */
  word?: string;
  about: string;
  filters: readonly (keyof typeof FILTERS)[];
}

function addTable(parent: Command, calls: Calls, { name, word = name, about, filters }: TableCommand): void {
  const command = calls.command(parent, word, "[options] [--limit COUNT] [--json]").description(about);
  for (const filter of filters) command.addOption(FILTERS[filter]);
  command
    .option("--limit <count>", "How many are shown at most. Default: 25.")
    .option(...PROFILE)
    .option("--json", "Print each as JSON, with all its fields, one a line.")
    .action(
      calls.does<TableOptions>(async (call) => (await import("../client/tables.ts")).runTable(name, call)),
    );
}

function addTables(program: Command, calls: Calls): void {
  const add = (name: TableName, filters: TableCommand["filters"]) =>
    addTable(program, calls, { name, about: `The newest ${name}, as a table.`, filters });
  add("events", ["type", "status", "consumer", "source", "search"]);
  add("deliveries", ["type", "ownStatus", "consumer", "endpoint", "event", "search"]);
  add("endpoints", ["endpointStatus", "kind", "consumer", "search"]);
  add("sources", []);
}
