import { messageOf } from "../core/errors.ts";
import { isObject, parseObject } from "../core/json/value.ts";
import { CommandError, printable } from "../platform/command-line.ts";
import { type Page, pagesOf } from "../platform/pages.ts";
import type { Installation } from "./profiles.ts";

const ANSWER_MS_MAX = 60_000;

/** An answer that is no success. */
export class Refused extends CommandError {
  override name = "Refused";
  readonly status: number;
  /** The problem's `code`, which never changes; empty where the answer is no problem document. */
  readonly code: string;
  /** Of `retry-after`; null where it says nothing. */
  readonly retryAfterSeconds: number | null;

  constructor(message: string, { status, headers }: Response, code: string) {
    super(message);
    this.status = status;
    this.code = code;
    const seconds = Number(headers.get("retry-after") ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
  }
}

/** There was no answer. */
export class Unreachable extends CommandError {
  override name = "Unreachable";
}

export interface Ask {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** JSON, as it is sent. */
  body?: string;
  /** In place of the installation's key. */
  bearer?: string;
  /** Of a POST: the same again makes nothing a second time. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** How answers are read. */
export interface Reading {
  /** What an answer may have, unpacked. Default: no limit. */
  answerBytesMax?: number;
  /** For JSON.parse. */
  revive?: (key: string, value: unknown, context?: { source?: string }) => unknown;
  /** Sent with each question, such as one that names the version of the answers. */
  headers?: Readonly<Record<string, string>>;
}

/** The public API of one installation, by one key. */
export class Api {
  readonly url: string;
  readonly #key: string;
  readonly #reading: Reading;

  constructor({ url, key }: Installation, reading: Reading = {}) {
    this.url = url;
    this.#key = key;
    this.#reading = reading;
  }

  /** What a path answers, as JSON. Throws Refused or Unreachable, and CommandError for what is none. */
  async ask<T>(path: string, ask: Ask = {}): Promise<T> {
    const text = await this.askText(path, ask);
    try {
      return (text === "" ? null : JSON.parse(text, this.#reading.revive)) as T;
    } catch {
      throw new CommandError(`${this.url}${path} answers no JSON: is the address right?`);
    }
  }

  /** The same as the text that it came as. */
  async askText(path: string, ask: Ask = {}): Promise<string> {
    const { method = "GET", body, bearer, idempotencyKey, signal } = ask;
    const headers = new Headers({
      ...this.#reading.headers,
      authorization: `Bearer ${bearer ?? this.#key}`,
      accept: "application/json",
    });
    if (body !== undefined) headers.set("content-type", "application/json");
    if (idempotencyKey !== undefined) headers.set("idempotency-key", idempotencyKey);
    const limits = [AbortSignal.timeout(ANSWER_MS_MAX), ...(signal === undefined ? [] : [signal])];
    const given = body === undefined ? {} : { body };
    let answer: Response;
    let text: string;
    try {
      // A redirect is not followed: the key is for this address.
      const init = {
        method,
        headers,
        redirect: "manual",
        signal: AbortSignal.any(limits),
        ...given,
      } as const;
      answer = await fetch(`${this.url}${path}`, init);
      text = await bodyText(answer, this.#reading.answerBytesMax);
    } catch (error) {
      if (error instanceof TooLong) throw new CommandError(`${this.url}${path} ${error.message}`);
      throw new Unreachable(`${this.url} cannot be reached: ${printable(messageOf(error))}`);
    }
    if (answer.ok) return text;
    throw new Refused(...refusalOf(`${method} ${this.url}${path}`, answer, text));
  }

  /** All pages of a list; `query` is asked before each. */
  pages<Row>(path: string, query: () => Readonly<Record<string, string>>): AsyncGenerator<Page<Row>> {
    return pagesOf(path, query, (page) => this.ask<Page<Row>>(page));
  }
}

class TooLong extends Error {
  override name = "TooLong";
}

/** The text of an answer. Throws TooLong as soon as it has more than so many bytes. */
async function bodyText(answer: Response, bytesMax = Number.POSITIVE_INFINITY): Promise<string> {
  if (answer.body === null || bytesMax === Number.POSITIVE_INFINITY) return answer.text();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new TooLong(`answers more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** One sentence, each fault of the request below it. */
function refusalOf(what: string, answer: Response, text: string): [string, Response, string] {
  const problem = parseObject(text);
  // Services that an import reads have other names for it.
  const told = [
    problem?.["detail"],
    problem?.["message"],
    problem?.["error"],
    answer.headers.get("location"),
  ];
  const said = told.map(textOf).find((one) => one !== "") ?? "no reason";
  const faults = Array.isArray(problem?.["errors"]) ? problem["errors"].filter(isObject) : [];
  const lines = faults.map((fault) => `  ${textOf(fault["pointer"])}: ${textOf(fault["detail"])}`);
  const message = [`${what} is answered ${answer.status}: ${said}`, ...lines].map(printable).join("\n");
  return [message, answer, textOf(problem?.["code"])];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
