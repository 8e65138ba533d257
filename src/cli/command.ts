import { Argument, Command, CommanderError } from "commander";
import { CLIENT_SETTINGS, type Described, readConfig, SETTINGS } from "../config.ts";
import { type Call, EXIT, printableJson } from "../platform/command-line.ts";
import { VERSION } from "../transport/user-agent.ts";
import { Calls } from "./calls.ts";
import { addClientCommands } from "./client-commands.ts";
import { completionsOf, SCRIPTS, type Shell } from "./completion.ts";
import { addServiceCommands } from "./service-commands.ts";

const HEALTH_MS_MAX = 2500;
const CHECK_HEALTH = "--check-health";
/** What the scripts of completion call: the words behind it are the shell's own, and are not parsed. */
const COMPLETE = "complete";
const INTRO =
  "Without a command, or with serve, it runs the service, which takes its settings from environment variables.";
/** Runs the command that the words name; answers the exit code, or null where they ask for the service. */
export async function runCommand(words: readonly string[]): Promise<number | null> {
  if (words.length === 1 && words[0] === CHECK_HEALTH) return checkHealth();
  const calls = new Calls();
  if (words[0] === COMPLETE) {
    for (const word of completionsOf(makeProgram(calls), process.env)) console.log(word);
    return EXIT.good;
  }
  try {
    await makeProgram(calls).parseAsync(words, { from: "user" });
  } catch (error) {
    // It has printed all that there is to say: help, the version, or what is wrong with the words.
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.good : EXIT.wrongUsage;
  }
  return calls.exitCode;
}

/** The whole tree of commands, for whoever parses words, or completes them. */
export function makeProgram(calls: Calls): Command {
  const program = new Command("sealpost")
    .description(INTRO)
    .usage("[command] [options]")
    .version(VERSION, "--version", "Print the version.")
    .helpOption("-h, --help", "Print what the command does, and its options.")
    .option(
      CHECK_HEALTH,
      "Alone: ask the service that runs with these settings whether it answers: exit code 0 or 1.",
    )
    .helpCommand(false)
    .addHelpText("after", () => `\n${describeSettings()}`)
    .configureHelp({
      styleTitle: (title) => title.replace(/^Usage:/, "usage:"),
      subcommandTerm: (command) => command.name(),
    })
    .exitOverride();
  program.showHelpAfterError("usage: sealpost [command] [options]   (--help lists commands and settings)");
  calls
    .command(program, "serve", "")
    .description("Run the service, as without a command.")
    .action(calls.does(() => null));
  calls
    .command(program, "check-config", "[--json]")
    .description("Say whether the service would take its settings: exit code 0, or 2 with all that is wrong.")
    .option("--json", 'Print `{"problems": […]}`.')
    .action(calls.does<{ json?: boolean }>(checkConfig));
  addServiceCommands(program, calls);
  addClientCommands(program, calls);
  addCompletion(program, calls);
  return program;
}

function addCompletion(program: Command, calls: Calls): void {
  calls
    .command(program, "completion", Object.keys(SCRIPTS).join("|"))
    .description("Print what makes a shell complete the words of sealpost.")
    .addArgument(new Argument("<shell>").choices(Object.keys(SCRIPTS)))
    .action(
      calls.does(({ words }) => {
        process.stdout.write(SCRIPTS[words[0] as Shell]);
        return EXIT.good;
      }),
    );
}

function describeSettings(): string {
  const service = Object.values(SETTINGS).map(describeSetting);
  const client = Object.values(CLIENT_SETTINGS).map(describeSetting);
  const heads = ["Settings of the service:", "Settings of the commands that talk to one:"] as const;
  return [heads[0], "", ...service, "", heads[1], "", ...client].join("\n");
}

function describeSetting({ name, about, defaultText, example }: Described): string {
  return `  ${name}\n      ${about}\n      Default: ${defaultText}. Example: ${name}=${example}`;
}

function checkConfig({ options }: Call<{ json?: boolean }>): number {
  const read = readConfig(process.env);
  const problems = read.ok ? [] : read.problems;
  if (options.json === true) console.log(printableJson({ problems }));
  else if (read.ok) console.log("The settings are right.");
  else console.error(problems.join("\n"));
  return read.ok ? EXIT.good : EXIT.wrongUsage;
}

/** What listens on every address is reached on its own. */
const OWN_ADDRESS: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

async function checkHealth(): Promise<number> {
  const read = readConfig(process.env);
  if (!read.ok) return EXIT.failed;
  const { host, port } = read.config;
  const address = OWN_ADDRESS.get(host) ?? host;
  const origin = address.includes(":") ? `http://[${address}]:${port}` : `http://${address}:${port}`;
  try {
    const signal = AbortSignal.timeout(HEALTH_MS_MAX);
    const { ok } = await fetch(`${origin}/healthz`, { signal, proxy: false, redirect: "error" });
    return ok ? EXIT.good : EXIT.failed;
  } catch (error) {
    console.error(`${origin} does not answer: ${error instanceof Error ? error.message : String(error)}`);
    return EXIT.failed;
  }
}
