import { parseRfc3339 } from "../core/rfc3339.ts";
import {
  type Call,
  coloured,
  EXIT,
  printableJson,
  runCommandLine,
  UsageError,
} from "../platform/command-line.ts";
import { type Captured, readHeaders, readRequest } from "./captured.ts";
import { readInput, STDIN } from "./input.ts";
import { judge, type Judgement } from "./verdict.ts";

export interface VerifyRequestOptions {
  headers?: string;
  body?: string;
  secret?: string;
  at?: string;
  tolerance?: string;
  json?: boolean;
}

const TOLERANCE_SECONDS = 300;

/** `sealpost verify`: whether a captured request is genuine; exit code 0 if so, 2 for a malformed secret. */
export function runVerify({ words, options, usage }: Call<VerifyRequestOptions>): Promise<number> {
  const verify = async () => {
    const terms = {
      secret: await readSecretText(options.secret),
      nowMs: readTime(options.at),
      toleranceSeconds: readTolerance(options.tolerance),
    };
    const judgement = judge(await readCaptured(words, options), terms);
    console.log(options.json === true ? printableJson(judgement) : describe(judgement));
    if (judgement.verdict === "valid") return EXIT.good;
    return judgement.verdict === "malformed_secret" ? EXIT.wrongUsage : EXIT.failed;
  };
  return runCommandLine(usage, verify);
}

function describe({ verdict, detail }: Judgement): string {
  return `${coloured(verdict === "valid" ? "green" : "red", verdict.replaceAll("_", " "))}: ${detail}`;
}

/** The words themselves, or `@` and a file: what stands on a command line, others on the machine see. */
async function readSecretText(given = process.env["WEBHOOK_SECRET"] ?? ""): Promise<string> {
  if (given === "") throw new UsageError("--secret, or WEBHOOK_SECRET, must hold the secret");
  return given.startsWith("@")
    ? Buffer.from(await readInput(given.slice(1)))
        .toString()
        .trim()
    : given;
}

function readTime(text: string | undefined): number {
  const at = text === undefined ? Date.now() : parseRfc3339(text);
  if (at === null) throw new UsageError("--at must be a time of RFC 3339");
  return at;
}

function readTolerance(text: string | undefined): number {
  const seconds = Number(text ?? TOLERANCE_SECONDS);
  if (!(seconds >= 0)) throw new UsageError("--tolerance must be a number of seconds");
  return seconds;
}

async function readCaptured(words: readonly string[], options: VerifyRequestOptions): Promise<Captured> {
  const { headers, body } = options;
  if (headers === undefined && body === undefined) return readRequest(await readInput(words[0] ?? STDIN));
  if (headers === undefined || body === undefined || words.length > 0 || headers === body)
    throw new UsageError("Name one file with the whole request, or --headers and --body");
  const head = Buffer.from(await readInput(headers)).toString("latin1");
  return { headers: readHeaders(head), body: await readInput(body) };
}
