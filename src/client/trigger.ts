import { messageOf } from "../core/errors.ts";
import { type Call, EXIT, runCommandLine, UsageError } from "../platform/command-line.ts";
import { Api } from "./api.ts";
import { readInput } from "./input.ts";
import { findInstallation } from "./installation.ts";

export interface TriggerOptions {
  data?: string;
  consumer?: string;
  externalId?: string;
  profile?: string;
  json?: boolean;
}

/** `sealpost trigger`: publishes one event. */
export function runTrigger({ words, options, usage }: Call<TriggerOptions>): Promise<number> {
  const publish = async () => {
    const api = new Api(findInstallation(options.profile, process.env));
    const body = eventText(words[0] ?? "", await readData(options.data ?? "{}"), options);
    const answer = await api.askText("/v1/events", { method: "POST", body });
    console.log(options.json === true ? answer : describe(JSON.parse(answer) as Published));
    return EXIT.good;
  };
  return runCommandLine(usage, publish);
}

/** The text of `--data`: JSON as it is, or `@` and the file that holds it, `@-` for standard input. */
async function readData(given: string): Promise<string> {
  const text = given.startsWith("@") ? Buffer.from(await readInput(given.slice(1))).toString() : given;
  try {
    JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--data is not JSON: ${messageOf(error)}`);
  }
  return text;
}

/** The body of the publish, in which the data stands as it was given: numbers keep all their digits. */
function eventText(type: string, data: string, { consumer, externalId }: TriggerOptions): string {
  const head = JSON.stringify({ type, consumer_id: consumer, external_id: externalId });
  return `${head.slice(0, -1)},"data":${data}}`;
}

interface Published {
  id: string;
  type: string;
  duplicate: boolean;
  delivery_count: number;
}

function describe({ id, type, duplicate, delivery_count: count }: Published): string {
  const deliveries = count === 1 ? "1 delivery" : `${count} deliveries`;
  return `${id}  ${type}  ${deliveries}${duplicate ? ", was there before" : ""}`;
}
