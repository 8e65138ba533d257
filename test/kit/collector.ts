/**
 * What a collector of OpenTelemetry is sent, read as the protocol has it (OTLP/HTTP in JSON): a receiver of
 * the tests' own is that collector. A field that the protocol has not, or of another form, is an error.
 */
import { expect } from "bun:test";
import type { ReceivedRequest, Receiver } from "./receiver.ts";

/** The one path that spans are sent to, as a receiver names it. */
export const TRACES = "v1/traces";

type Value = string | number | boolean;

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  /** Empty of the first of a trace. */
  parentSpanId: string;
  name: string;
  /** 2 of a server, 3 of a client. */
  kind: number;
  /** 0, or 2 of an error. */
  status: number;
  attributes: Record<string, Value>;
  /** Of the service that sent it. */
  resource: Record<string, Value>;
}

/** The setting that leads to this receiver. */
export function endpointOf(receiver: Receiver): string {
  return receiver.url("").replace(/\/$/, "");
}

/** What has come so far, in the order of its coming. */
export function spansAt(receiver: Receiver): CollectedSpan[] {
  return receiver.requests(TRACES).flatMap(readSpans);
}

const HEX = { trace: /^(?!0+$)[0-9a-f]{32}$/, span: /^(?!0+$)[0-9a-f]{16}$/ };
const NANOSECONDS = /^1[0-9]{18}$/;

interface Attribute {
  key: string;
  value: Record<string, Value>;
}

interface SpanJson {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  status: { code: number };
}

interface Payload {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { scope: { name: string }; spans: SpanJson[] }[];
  }[];
}

const SPAN_FIELDS = [
  ...["traceId", "spanId", "traceState", "parentSpanId", "flags", "name", "kind", "startTimeUnixNano"],
  ...["endTimeUnixNano", "attributes", "droppedAttributesCount", "events", "droppedEventsCount", "links"],
  ...["droppedLinksCount", "status"],
];

function readSpans({ method, headers, body }: ReceivedRequest): CollectedSpan[] {
  expect([method, headers["content-type"]]).toEqual(["POST", "application/json"]);
  const payload = JSON.parse(body.toString()) as Payload;
  expect(Object.keys(payload)).toEqual(["resourceSpans"]);
  return payload.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => readSpan(span, readAttributes(resource.attributes))),
    ),
  );
}

function readSpan(span: SpanJson, resource: CollectedSpan["resource"]): CollectedSpan {
  expect(Object.keys(span).filter((name) => !SPAN_FIELDS.includes(name))).toEqual([]);
  const { traceId, spanId, parentSpanId = "", name, kind, status } = span;
  expect([traceId, spanId]).toEqual([expect.stringMatching(HEX.trace), expect.stringMatching(HEX.span)]);
  if (parentSpanId !== "") expect(parentSpanId).toMatch(HEX.span);
  for (const at of [span.startTimeUnixNano, span.endTimeUnixNano]) expect(at).toMatch(NANOSECONDS);
  expect(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)).toBe(true);
  const attributes = readAttributes(span.attributes);
  return { traceId, spanId, parentSpanId, name, kind, status: status.code, attributes, resource };
}

/** A whole number of 64 bits is a text, or a number where it is a small one (protobuf's JSON mapping). */
function readAttributes(attributes: readonly Attribute[]): Record<string, Value> {
  const read = attributes.map(({ key, value }): [string, Value] => {
    const [[form, given] = ["", ""], ...others] = Object.entries(value);
    expect([form, others]).toEqual([expect.stringMatching(/^(string|int|double|bool)Value$/), []]);
    return [key, form === "intValue" ? Number(given) : given];
  });
  expect(new Set(read.map(([key]) => key)).size).toBe(read.length);
  return Object.fromEntries(read);
}
