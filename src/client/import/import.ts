import { isObject } from "../../core/json/value.ts";
import { readSecret } from "../../core/signing.ts";
import { type Call, CommandError, EXIT, runCommandLine, UsageError } from "../../platform/command-line.ts";
import { Api, Refused } from "../api.ts";
import { findInstallation, readUrl } from "../installation.ts";
import { PatientApi } from "../patient-api.ts";
import { isEventTypeStep, type Plan, planOf, type Step, stepsOf } from "./plan.ts";
import type { ImportRecord } from "./records.ts";
import { Report } from "./report.ts";
import { Target } from "./target.ts";

/** `sealpost import …`: what the sources have in common. */

export interface ImportOptions {
  apply?: boolean;
  profile?: string;
  json?: boolean;
}

/** Options of a service that is asked by its API. */
export interface ServiceOptions extends ImportOptions {
  from?: string;
  /** Print the records, and ask no Sealpost. */
  records?: boolean;
  body?: "data" | "envelope";
}

/**
 * Reads the records of a source, decides what becomes of each, and writes them where that is asked for;
 * `whole` as in `planOf`.
 */
export function runImport<Options extends ImportOptions>(
  { options, usage }: Call<Options>,
  read: () => AsyncIterable<ImportRecord>,
  whole: string | null = null,
): Promise<number> {
  return runCommandLine(usage, async () => {
    const target = await Target.read(new PatientApi(new Api(findInstallation(options.profile, process.env))));
    const plan = await planOf(read(), target, whole);
    const report = new Report(plan, options);
    if (options.apply === true) await apply(plan, target, report);
    else for (const step of stepsOf(plan)) report.tell(step);
    report.end();
    return stepsOf(plan).every(isGood) ? EXIT.good : EXIT.failed;
  });
}

function isGood({ verb, isExpected }: Step): boolean {
  return verb !== "leave_out" || isExpected === true;
}

/** The same for a service, of which the records alone may be asked for. */
export function runServiceImport<Options extends ServiceOptions>(
  call: Call<Options>,
  read: () => AsyncIterable<ImportRecord>,
  whole: string | null,
): Promise<number> {
  const { options, usage } = call;
  if (options.records !== true) return runImport(call, read, whole);
  return runCommandLine(usage, async () => {
    if (options.apply === true) throw new UsageError("--records prints, and --apply writes: one of them");
    for await (const record of read()) console.log(JSON.stringify(record));
    return EXIT.good;
  });
}

/** The API of a service, by the address of `--from` and a token that stands in the environment. */
export function serviceApi(name: string, tokenName: string, from: string | undefined): PatientApi {
  const key = process.env[tokenName] ?? "";
  if (key === "") throw new UsageError(`${tokenName} must hold a token of ${name}`);
  if (from === undefined) throw new UsageError(`--from must be the address of the API of ${name}`);
  return new PatientApi(new Api({ url: readUrl(from), key }));
}

async function apply(plan: Plan, target: Target, report: Report): Promise<void> {
  try {
    for (const step of stepsOf(plan)) {
      await unlessRefused(step, () => write(step, target));
      report.tell(step);
    }
  } catch (error) {
    console.error("Run it again: what is made is kept, and it goes on from here.");
    throw error;
  }
}

async function write(step: Step, target: Target): Promise<void> {
  if (step.verb !== "make" && step.verb !== "change") return;
  if (isEventTypeStep(step))
    return step.verb === "make" ? target.makeEventType(step.record) : target.changeEventType(step.record);
  if (step.endpointId === null) step.endpointId = await target.makeEndpoint(step.record);
  else await target.changeEndpoint(step.endpointId, step.record);
}

/** One that Sealpost refuses is left out, and the others go on. */
async function unlessRefused(step: Step, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refused && [409, 413, 422].includes(error.status))) throw error;
    step.verb = "leave_out";
    step.reasons = [`Sealpost refuses it: ${error.message.replaceAll(/\n\s*/g, "; ")}`];
  }
}

/** So many parts of a source are read at the same time. */
const AT_ONCE = 4;

/** What each of these is read into, in their order. */
export async function* readEach<From, To>(
  items: readonly From[],
  read: (item: From) => Promise<readonly To[]>,
): AsyncGenerator<To> {
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const parts = await Promise.all(items.slice(at, at + AT_ONCE).map(read));
    for (const part of parts) yield* part;
  }
}

/** The list that an answer is, or that it holds by this name. Throws CommandError where there is none. */
export function listIn<Row>(answer: unknown, name: string | null, service: string): Row[] {
  const list: unknown = name === null || !isObject(answer) ? answer : answer[name];
  if (Array.isArray(list)) return list as Row[];
  throw new CommandError(`${service} does not answer as it should: is the address that of its API?`);
}

/**
 * The secret of a service that signs by the bytes of a text: the same text where it can be one of Standard
 * Webhooks, else one whose key is those bytes, so that nobody has to be sent another.
 */
export function secretOf(text: string): string {
  return readSecret(text) === null ? `whsec_${Buffer.from(text).toString("base64")}` : text;
}

/** Bodies that are the event's data alone, as other services send them. */
export function transformationsFor(body: ServiceOptions["body"]): readonly object[] | null {
  return body === "envelope" ? null : [{ op: "unwrap", path: "data" }];
}
