import { printable, printableJson, tableOf } from "../../platform/command-line.ts";
import { isEventTypeStep, type Plan, type Step, type Verb } from "./plan.ts";

/** How an import tells what becomes of each record. */

const WORDS: Readonly<Record<Verb, readonly [planned: string, done: string]>> = {
  make: ["make", "made"],
  change: ["change", "changed"],
  keep: ["keep", "kept"],
  leave_out: ["leave out", "left out"],
};
const VERBS = Object.keys(WORDS) as Verb[];

export class Report {
  readonly #plan: Plan;
  readonly #isApplied: boolean;
  readonly #isJson: boolean;
  #hasTold = false;

  constructor(plan: Plan, options: { apply?: boolean; json?: boolean }) {
    this.#plan = plan;
    this.#isApplied = options.apply === true;
    this.#isJson = options.json === true;
  }

  /** A line; none for what stays as it is, but as JSON. */
  tell(step: Step): void {
    if (this.#isJson) console.log(printableJson({ ...describe(step), applied: this.#isApplied }));
    else if (step.verb !== "keep") console.log(printable(lineOf(step, this.#word(step.verb))));
    this.#hasTold ||= step.verb !== "keep";
  }

  /** The sum. */
  end(): void {
    const { eventTypes, endpoints, consumers } = this.#plan;
    const sum = { event_types: countsOf(eventTypes), endpoints: countsOf(endpoints), consumers };
    if (this.#isJson) return console.log(printableJson({ sum, applied: this.#isApplied }));
    if (this.#hasTold) console.log();
    const row = (name: string, counts: Record<Verb, number>) => [
      name,
      ...VERBS.map((verb) => String(counts[verb])),
    ];
    const rows = [row("event types", sum.event_types), row("endpoints", sum.endpoints)];
    console.log(tableOf(["", ...VERBS.map((verb) => this.#word(verb))], rows));
    console.log(`consumers: ${consumers}, and nothing to make: each begins with its first endpoint or event`);
    if (!this.#isApplied) console.log("Nothing is written yet: --apply does it");
  }

  #word(verb: Verb): string {
    return WORDS[verb][this.#isApplied ? 1 : 0];
  }
}

function lineOf(step: Step, word: string): string {
  const why = step.reasons.length > 0 ? `: ${step.reasons.join("; ")}` : "";
  const { without = [] } = step.record;
  const less = without.length > 0 && step.verb !== "leave_out" ? `, without ${without.join("; ")}` : "";
  return `${word.padEnd(WORDS.leave_out[0].length)}  ${nameOf(step)}${why}${less}`;
}

function nameOf(step: Step): string {
  if (isEventTypeStep(step)) return `event type ${step.record.name}`;
  const { id, consumer_id: consumer, kind, url = kind } = step.record;
  return `endpoint ${id}${consumer ? ` of ${consumer}` : ""}${url === undefined ? "" : ` to ${url}`}`;
}

function describe(step: Step): object {
  const { verb, reasons, record } = step;
  const told = { step: verb, record: record.record, reasons, without: record.without ?? [] };
  if (isEventTypeStep(step)) return { ...told, name: step.record.name };
  const { id, consumer_id = null, url = null } = step.record;
  return { ...told, id, consumer_id, url, endpoint_id: step.endpointId };
}

function countsOf(steps: readonly Step[]): Record<Verb, number> {
  const counts = { make: 0, change: 0, keep: 0, leave_out: 0 };
  for (const { verb } of steps) counts[verb]++;
  return counts;
}
