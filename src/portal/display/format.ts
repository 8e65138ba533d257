import { locale } from "../i18n.ts";

/** Numbers, times and durations as the reader writes them. */

const made = new Map<string, unknown>();

/** Formats are costly to make, and a list needs hundreds. */
function once<T>(name: string, make: () => T): T {
  const key = `${locale.value} ${name}`;
  const known = made.get(key) as T | undefined;
  if (known !== undefined) return known;
  const fresh = make();
  made.set(key, fresh);
  return fresh;
}

export function number(value: number): string {
  return once("number", () => new Intl.NumberFormat(locale.value)).format(value);
}

/** 1,284 → 1,284; 128,400 → 128K. */
export function compact(value: number): string {
  if (value < 10_000) return number(value);
  const options = { notation: "compact", maximumFractionDigits: 1 } as const;
  return once("compact", () => new Intl.NumberFormat(locale.value, options)).format(value);
}

/** 0.987 → 98.7%; only what is whole reads 100%. */
export function percent(share: number): string {
  const cut = Math.floor(share * 1000) / 1000;
  const options = { style: "percent", maximumFractionDigits: 1 } as const;
  return once("percent", () => new Intl.NumberFormat(locale.value, options)).format(cut);
}

/** In ms or s, with three digits. */
export function duration(ms: number): string {
  const isShort = ms < 1000;
  const options = {
    style: "unit",
    unit: isShort ? "millisecond" : "second",
    unitDisplay: "short",
    maximumSignificantDigits: 3,
  } as const;
  const name = isShort ? "ms" : "s";
  return once(name, () => new Intl.NumberFormat(locale.value, options)).format(isShort ? ms : ms / 1000);
}

export function bytes(size: number): string {
  const isSmall = size < 1000;
  const options = {
    style: "unit",
    unit: isSmall ? "byte" : "kilobyte",
    unitDisplay: isSmall ? "long" : "short",
    maximumFractionDigits: 1,
  } as const;
  return once(isSmall ? "B" : "kB", () => new Intl.NumberFormat(locale.value, options)).format(
    isSmall ? size : size / 1000,
  );
}

const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];

/** "2 min ago", "in 3 hr". */
export function relative(at: number, now: number): string {
  const format = once(
    "relative",
    () => new Intl.RelativeTimeFormat(locale.value, { numeric: "auto", style: "short" }),
  );
  const away = at - now;
  const [unit, size] = STEPS.find(([, ms]) => Math.abs(away) >= ms) ?? ["second", 1000];
  return format.format(Math.trunc(away / size), unit);
}

/** With seconds and zone, in the reader's own zone. */
export function exact(at: number): string {
  return once(
    "exact",
    () => new Intl.DateTimeFormat(locale.value, { dateStyle: "medium", timeStyle: "long" }),
  ).format(at);
}

/** Of a point in a chart. */
export function hour(at: number): string {
  const options = { weekday: "short", hour: "2-digit", minute: "2-digit" } as const;
  return once("hour", () => new Intl.DateTimeFormat(locale.value, options)).format(at);
}

/** Hours and minutes alone. */
export function clock(at: number): string {
  const options = { hour: "2-digit", minute: "2-digit" } as const;
  return once("clock", () => new Intl.DateTimeFormat(locale.value, options)).format(at);
}

export function day(at: number): string {
  return once("day", () => new Intl.DateTimeFormat(locale.value, { month: "short", day: "numeric" })).format(
    at,
  );
}

export function and(texts: readonly string[]): string {
  return once("list", () => new Intl.ListFormat(locale.value)).format(texts);
}

/** How long until then, counted down: "4:05" or "2 h 10 min". */
export function remaining(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (hours > 0) return `${number(hours)} h ${number(minutes)} min`;
  return `${number(minutes)}:${String(seconds % 60).padStart(2, "0")}`;
}

const SPANS: readonly [string, number][] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

/** A length of time in its largest whole unit: "5 minutes", "3 days". */
export function span(seconds: number): string {
  const [unit, size] = SPANS.find(([, one]) => seconds >= one && seconds % one === 0) ?? ["second", 1];
  const options = { style: "unit", unit, unitDisplay: "long" } as const;
  return once(`span ${unit}`, () => new Intl.NumberFormat(locale.value, options)).format(seconds / size);
}

/** A length of time in one unit, roughly: "5 min", "2 hr". */
export function roughly(ms: number): string {
  const [unit, size] = STEPS.find(([, length]) => ms >= length) ?? ["second", 1000];
  const options = {
    style: "unit",
    unit,
    unitDisplay: "short",
    maximumFractionDigits: unit === "hour" ? 1 : 0,
  } as const;
  return once(`roughly ${unit}`, () => new Intl.NumberFormat(locale.value, options)).format(ms / size);
}

/** A moment below a picture, as exact as the picture is long. */
export function moment(at: number, exactness: "second" | "minute" | "day"): string {
  if (exactness === "day") return `${day(at)}, ${clock(at)}`;
  return exactness === "minute"
    ? clock(at)
    : once("seconds", () => new Intl.DateTimeFormat(locale.value, SECONDS)).format(at);
}

/** A moment as /v1 writes it, and takes it in queries. */
export function iso(at: number): string {
  return new Date(at).toISOString();
}

const SECONDS = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
