/**
 * The header by which a request says which trace it belongs to (W3C Trace Context, section 3.2): the trace,
 * the span that the request is part of, and whether that is recorded. `tracestate` is neither read nor handed
 * on: it may say anything of its sender's systems, and what leaves here goes to other people's servers.
 */
export const TRACEPARENT_HEADER = "traceparent";

export interface TraceContext {
  /** 32 and 16 digits of lower-case hexadecimal, neither of them all zeros. */
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

const VERSION_00 = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;

/** Null where the header is missing, comes twice, or is not of version 00: the trace begins here then. */
export function readTraceparent(text: string | null): TraceContext | null {
  const [, traceId, spanId, flags] = (text !== null && VERSION_00.exec(text)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

export function writeTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** Which traces that begin here are recorded, by the names of OpenTelemetry's specification. */
export const SAMPLERS = [
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
  "always_on",
  "always_off",
  "traceidratio",
] as const;
export type SamplerName = (typeof SAMPLERS)[number];
