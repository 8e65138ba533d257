import { CommandError } from "../platform/command-line.ts";
import type { Api } from "./api.ts";
import { SteadyApi, type SteadyAsk } from "./steady-api.ts";
import { tellWeather } from "./terminal.ts";

/** Longer than a restart, or than a rate limit holds. */
const GIVE_UP_MS = 120_000;

/** An API for a command that has an end: what passes by itself is waited for, but not for ever. */
export class PatientApi {
  readonly #api: Api;
  readonly #giveUpMs: number;
  #isLost = false;

  constructor(api: Api, giveUpMs = GIVE_UP_MS) {
    this.#api = api;
    this.#giveUpMs = giveUpMs;
  }

  /** The address that is asked. */
  get url(): string {
    return this.#api.url;
  }

  /**
   * What a path answers without patience, for the first question: an address or a key that is wrong is told
   * at once. Throws Refused or Unreachable.
   */
  askOnce<T>(path: string): Promise<T> {
    return this.#api.ask<T>(path);
  }

  /**
   * What a path answers. Throws Refused for what does not pass by itself, and CommandError for what does not
   * pass in two minutes.
   */
  async ask<T>(path: string, given: SteadyAsk = {}): Promise<T> {
    const signal = AbortSignal.timeout(this.#giveUpMs);
    const steady = new SteadyApi(this.#api, { signal, onWeather: (problem) => this.#tell(problem) });
    const answer = await steady.ask<T>(path, given);
    if (answer !== null) return answer;
    throw new CommandError(`${this.#api.url}${path} gives no answer, and was asked for long enough.`);
  }

  /** Once, whatever number of questions meets the same. */
  #tell(problem: string | null): void {
    if (this.#isLost === (problem !== null)) return;
    this.#isLost = problem !== null;
    tellWeather(problem);
  }
}
