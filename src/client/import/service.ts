import { messageOf } from "../../core/errors.ts";
import { isObject } from "../../core/json/value.ts";
import { readSecret } from "../../core/signing.ts";
import {
  type Call,
  CommandError,
  EXIT,
  printableJson,
  runCommandLine,
  UsageError,
} from "../../platform/command-line.ts";
import { Api, Refused } from "../api.ts";
import { readUrl } from "../installation.ts";
import { PatientApi } from "../patient-api.ts";
import { type ImportOptions, runImport } from "./import.ts";
import { keepNumber } from "./numbers.ts";
import { faultOf, type ImportRecord } from "./records.ts";

/** What the services that are moved away from have in common: all are asked by their APIs. */

export interface ServiceOptions extends ImportOptions {
  from?: string;
  /** Print the records, and ask no Sealpost. */
  records?: boolean;
  body?: "data" | "envelope";
}

/** A service that is ready to be asked. */
export interface Service {
  api: PatientApi;
  /** What is read of it. */
  records: AsyncIterable<ImportRecord>;
  /** What the ids of all that it has begin with; null where the records are not all of it. */
  idsBeginWith: string | null;
}

/**
 * Imports from a service, or prints its records where they alone are asked for. `open` throws UsageError for
 * words that are wrong, before anything is asked.
 */
export function runServiceImport<Options extends ServiceOptions>(
  call: Call<Options>,
  name: string,
  open: () => Service,
): Promise<number> {
  const { options, usage } = call;
  const openChecked = () => {
    const { api, records, idsBeginWith } = open();
    const whole = idsBeginWith === null ? null : { idsBeginWith, source: api.url };
    return { records: checked(name, api.url, records), whole };
  };
  if (options.records !== true) return runImport(call, openChecked);
  return runCommandLine(usage, async () => {
    if (options.apply === true) throw new UsageError("--records prints, and --apply writes: one of them");
    for await (const record of openChecked().records) console.log(printableJson(record));
    return EXIT.good;
  });
}

/** More than anybody has: a service that answers on and on is not read until the memory is full. */
const RECORDS_MAX = 1_000_000;

/**
 * The records with their source, each tested as those of a file are. What a source trips over, as an answer
 * has another form than its documents say, is told as that.
 */
export async function* checked(
  name: string,
  source: string,
  records: AsyncIterable<ImportRecord>,
): AsyncGenerator<ImportRecord> {
  let count = 0;
  try {
    for await (const record of records) {
      const fault = faultOf({ ...record });
      if (fault !== null) throw new TypeError(fault);
      if (++count > RECORDS_MAX) throw new TypeError(`it has more than ${RECORDS_MAX} records`);
      yield record.record === "endpoint" ? { ...record, source } : record;
    }
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof URIError || error instanceof RangeError))
      throw error;
    throw new CommandError(`${name} does not answer as it should: ${messageOf(error)}`);
  }
}

/** As many event types as a page has, each with a schema of 128 KiB. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

/**
 * The API of a service, by the address of `--from` and a token that stands in the environment. `headers` are
 * sent with each question.
 */
export function serviceApi(
  name: string,
  tokenName: string,
  from: string | undefined,
  headers: Readonly<Record<string, string>> = {},
): PatientApi {
  const key = process.env[tokenName] ?? "";
  if (key === "") throw new UsageError(`${tokenName} must hold a token of ${name}`);
  if (from === undefined) throw new UsageError(`--from must be the address of the API of ${name}`);
  const reading = { answerBytesMax: ANSWER_BYTES_MAX, revive: keepNumber, headers };
  return new PatientApi(new Api({ url: readUrl(from), key }, reading));
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

/** Null for what is not there, or was deleted between the list and this question. */
export async function orNone<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Refused && [404, 405].includes(error.status)) return null;
    throw error;
  }
}

/**
 * The list that an answer is, or that it holds by this name. Each row is an object with a text by the name
 * `key`; null: a text itself. Throws CommandError where it is not so.
 */
export function listIn<Row>(
  answer: unknown,
  name: string | null,
  key: (keyof Row & string) | null,
  service: string,
): Row[] {
  const list: unknown = name === null || !isObject(answer) ? answer : answer[name];
  if (!Array.isArray(list))
    throw new CommandError(`${service} does not answer as it should: is the address that of its API?`);
  for (const [at, row] of list.entries()) {
    const text: unknown = key !== null && isObject(row) ? row[key] : row;
    if (typeof text === "string" && text !== "") continue;
    const what = key === null ? "no text" : `no object with a text as ${key}`;
    throw new CommandError(`${service} does not answer as it should: row ${at + 1} of a list is ${what}`);
  }
  return list as Row[];
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
