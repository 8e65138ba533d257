import type { Command } from "commander";
import type { Call } from "../platform/command-line.ts";

/** Puts commands into the tree, and keeps the exit code of the one that ran: the parser hands on none. */
export class Calls {
  /** Null: the service is asked for. */
  exitCode: number | null = null;

  /** A new command below another; `words` is what follows its name in the line that says how it is called. */
  command(parent: Command, name: string, words: string): Command {
    const command = parent.command(name).usage(words).helpCommand(false);
    return command.showHelpAfterError(usageOf(command));
  }

  /** The action of a command: runs its work with what it was called with. */
  does<Options>(work: (call: Call<Options>) => number | null | Promise<number | null>) {
    return async (...given: unknown[]): Promise<void> => {
      const command = given.at(-1) as Command;
      const options = command.opts() as Options;
      this.exitCode = await work({ words: command.args, options, usage: usageOf(command) });
    };
  }
}

function usageOf(command: Command): string {
  return `usage: ${command.createHelp().commandUsage(command).trimEnd()}`;
}
