import type { IdCodec } from "../../core/ids.ts";
import { envelopeOf } from "../../core/model.ts";
import type { EventWithData } from "../../store/log/events.ts";
import type { Preview } from "./run.ts";

/** Samples of each outcome. */
const SAMPLES_MAX = 3;
/** Once the samples together are longer, no more are taken; one event may have a megabyte. */
const SAMPLE_CHARACTERS_MAX = 512 * 1024;

/** Counts what became of many events, and keeps a few of each outcome to look at. */
export class PreviewTally {
  #tried = 0;
  readonly #counts = { matched: 0, unmatched: 0, failed: 0 };
  readonly #samples: string[] = [];
  #characters = 0;

  constructor(private readonly ids: IdCodec) {}

  /** True while one more event that does not match would be shown: only then it has to be explained. */
  get wantsUnmatched(): boolean {
    return this.#wants("unmatched");
  }

  add(event: EventWithData, preview: Preview): void {
    this.#tried++;
    if (this.#wants(preview.outcome)) this.#keep(event, preview);
    this.#counts[preview.outcome]++;
  }

  /** `{tried, matched, failed, samples}` as JSON text. */
  write(): string {
    const { matched, failed } = this.#counts;
    return `{"tried":${this.#tried},"matched":${matched + failed},"failed":${failed},"samples":[${this.#samples.join()}]}`;
  }

  #wants(outcome: Preview["outcome"]): boolean {
    return this.#counts[outcome] < SAMPLES_MAX && this.#characters < SAMPLE_CHARACTERS_MAX;
  }

  #keep(event: EventWithData, { outcome, explanation, body }: Preview): void {
    const head = {
      event_id: this.ids.encode("evt", event.id),
      matched: outcome !== "unmatched",
      ...(explanation !== null && { explanation }),
    };
    const before = envelopeOf(event.type, event.timestamp, event.data);
    const sample = `${JSON.stringify(head).slice(0, -1)},"before":${before},"after":${body ?? "null"}}`;
    this.#samples.push(sample);
    this.#characters += sample.length;
  }
}
