import { type Call, EXIT, runCommandLine } from "../../platform/command-line.ts";
import { Api, Refused } from "../api.ts";
import { findInstallation } from "../installation.ts";
import { PatientApi } from "../patient-api.ts";
import { isEventTypeStep, type Plan, planOf, type Step, stepsOf, type Whole } from "./plan.ts";
import type { ImportRecord } from "./records.ts";
import { Report } from "./report.ts";
import { Target } from "./target.ts";

/** `sealpost import …`: what all sources have in common. */

export interface ImportOptions {
  apply?: boolean;
  profile?: string;
  json?: boolean;
}

/** Records that are ready to be read. */
export interface Source {
  records: AsyncIterable<ImportRecord>;
  /** As in `planOf`. */
  whole: Whole | null;
}

/**
 * Reads the records of a source, decides what becomes of each, and writes them where that is asked for.
 * `open` throws UsageError for words that are wrong, before anything is asked.
 */
export function runImport<Options extends ImportOptions>(
  { options, usage }: Call<Options>,
  open: () => Source,
): Promise<number> {
  return runCommandLine(usage, async () => {
    const { records, whole } = open();
    const target = await Target.read(new PatientApi(new Api(findInstallation(options.profile, process.env))));
    const plan = await planOf(records, target, whole);
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
