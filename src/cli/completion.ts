import type { Command, Option } from "commander";
import { readProfiles, type Env } from "../client/profiles.ts";

/**
 * What a shell may put behind what is typed. The shell gives the line in COMP_LINE and the cursor's place in
 * COMP_POINT, as bash does for `complete -C`; nothing of the line is ever evaluated.
 */

/** Binds the command `sealpost` in each shell, without files where there are words. */
export const SCRIPTS = {
  bash: "complete -o default -C 'sealpost complete' sealpost\n",
  zsh: "autoload -Uz bashcompinit && bashcompinit\ncomplete -o default -C 'sealpost complete' sealpost\n",
  fish: `function __sealpost_complete
  set -l words (env COMP_LINE=(commandline -cp | string collect) sealpost complete)
  if set -q words[1]
    printf '%s\\n' $words
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c sealpost -f -a '(__sealpost_complete)'
`,
} as const;

export type Shell = keyof typeof SCRIPTS;

/** The words that may follow, one for each line; empty where a file or a word of one's own is next. */
export function completionsOf(program: Command, env: Env): string[] {
  const line = env["COMP_LINE"] ?? "";
  const point = Number(env["COMP_POINT"] ?? line.length);
  const [, ...words] = line.slice(0, Number.isInteger(point) ? point : line.length).split(/\s+/);
  const typed = words.pop() ?? "";
  const { command, previous, given } = walk(program, words);
  return candidatesOf({ command, previous, given, typed, env }).filter((word) => word.startsWith(typed));
}

interface Place {
  command: Command;
  /** The option before the word that is typed, where it takes a value. */
  previous: Option | null;
  /** Words of the command that are no options. */
  given: string[];
}

function walk(program: Command, words: readonly string[]): Place {
  let command = program;
  let previous: Option | null = null;
  let given: string[] = [];
  for (const word of words) {
    const child = previous === null ? command.commands.find((one) => one.name() === word) : undefined;
    const option = command.options.find(({ long, short }) => word === long || word === short);
    if (child !== undefined) [command, given] = [child, []];
    else if (option === undefined && previous === null) given.push(word);
    // A list of values goes on until the next option.
    if (option !== undefined) previous = option.required || option.optional ? option : null;
    else if (previous !== null && !previous.variadic) previous = null;
  }
  return { command, previous, given };
}

function candidatesOf({
  command,
  previous,
  given,
  typed,
  env,
}: Place & { typed: string; env: Env }): string[] {
  if (typed.startsWith("-")) return [...optionsOf(command), "--help"];
  if (previous?.long === "--profile") return profilesOf(env);
  if (previous !== null) return [...(previous.argChoices ?? [])];
  if (command.commands.length > 0 && given.length === 0) return command.commands.map((one) => one.name());
  const argument = command.registeredArguments[given.length] ?? command.registeredArguments.at(-1);
  const choices = argument?.argChoices ?? [];
  return choices.filter((word) => !given.includes(word));
}

/** None where they cannot be read: nobody asked for an error in the middle of a line. */
function profilesOf(env: Env): string[] {
  try {
    return Object.keys(readProfiles(env));
  } catch {
    return [];
  }
}

function optionsOf(command: Command): string[] {
  return command.options.flatMap(({ long, hidden }) => (long === undefined || hidden ? [] : [long]));
}
