import type { Command } from "commander";
import type { LoginOptions } from "../client/login.ts";
import type { TriggerOptions } from "../client/trigger.ts";
import type { Calls } from "./calls.ts";

/** Commands that talk to an installation over its public API. What each of them does is loaded as it runs. */
export function addClientCommands(program: Command, calls: Calls): void {
  addLogin(program, calls);
  addTrigger(program, calls);
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
