import type { DestinationField, KindRow } from "../../destinations/destination.ts";
import { listKinds } from "../../destinations/destinations.ts";
import { ATTEMPT_ERRORS } from "../../core/attempt-error.ts";
import { anchorOf, blocks, code, plain, table } from "./markdown.ts";

/** The page of all kinds of destinations, made from the rows of their table, in Markdown. */
export function destinationPage(): string {
  const kinds = listKinds();
  return blocks([
    "# Destinations",
    `An endpoint is a destination of one of these kinds. All of them share retries, the log, the timeline, replay and pausing: a delivery to a
queue is \`delivered\` when the queue's server said yes, and not before. \`GET /v1/destination-kinds\` is the same as data.`,
    table(["Kind", "Destination", "Largest body"], kinds.map(rowOf)),
    "An endpoint is made with its kind and a `config`:",
    COMMAND,
    `With \`verify=true\` a test message goes there first; where it is not taken, the answer says why and nothing is stored. Credentials are
written, never read: they are encrypted at rest, read \`***\`, and sending \`***\` back keeps them. Addresses must lead to public
ones, now and at every attempt. A body that is larger than the destination takes is \`malformed\` at once.`,
    `Where a consumer gets body and headers, it verifies them as it would verify a request: with the endpoint's secret and any library of Standard
Webhooks. An answer that asks to slow down (429, 503, or a code that means it) slows the whole endpoint, as \`retry-after\` does.`,
    ...kinds.flatMap(sectionOf),
    "## Error codes of attempts",
    `An attempt that was not delivered has one of these in \`error_code\`, or none where its status says it all.
\`error_detail\` is what the other side said itself, where there is more.`,
    codeTable(ATTEMPT_ERRORS),
  ]);
}

const COMMAND = `\`\`\`bash
curl -sS "http://localhost:8080/v1/endpoints?verify=true" -H "authorization: Bearer $LIVE_KEY" \\
  -H 'content-type: application/json' -d '{"kind": "…", "config": {"…": "…"}}'
\`\`\``;

function rowOf({ kind, name, maxBytes }: KindRow): string[] {
  return [`[${code(kind)}](#${anchorOf(plain(name))})`, plain(name), sizeOf(maxBytes)];
}

function sizeOf(bytes: number | null): string {
  return bytes === null ? "no bound of its own" : `${bytes.toLocaleString("en")} bytes`;
}

/** The texts about a kind are Markdown already. */
function sectionOf(row: KindRow): string[] {
  const { kind, name, about, fields, maxBytes } = row;
  return [
    `## ${plain(name)}`,
    `${code(kind)}. ${about.sentAs}`,
    fieldTable(fields),
    headersOf(row),
    `**Delivered when:** ${about.deliveredWhen} The largest body: ${sizeOf(maxBytes)}.`,
    about.notes ?? "",
    about.errors === undefined ? "" : codeTable(about.errors),
    `**Tested against:** ${about.testedAgainst}${about.testedAgainst.endsWith(".") ? "" : "."}`,
  ];
}

function headersOf({ protocolHeaders = [], settableHeaders = [] }: KindRow): string {
  if (protocolHeaders.length === 0) return "";
  const list = (names: readonly string[]) => names.map(code).join(", ");
  const but = settableHeaders.length === 0 ? "" : `, but for ${list(settableHeaders)}`;
  return `**Headers of its own** that it refuses: ${list(protocolHeaders)}${but}.`;
}

function fieldTable(fields: readonly DestinationField[]): string {
  if (fields.length === 0) return "";
  const rows = fields.map(({ name, label, help, required, secret }) => [
    code(name),
    plain(`${label}. ${help}${secret ? " Write-only." : ""}`),
    required ? "yes" : "no",
  ]);
  return table(["`config`", "What it is", "Needed"], rows);
}

function codeTable(codes: Readonly<Record<string, string>>): string {
  return table(
    ["`error_code`", "What it means"],
    Object.entries(codes).map(([name, text]) => [code(name), plain(text)]),
  );
}
