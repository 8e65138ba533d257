/**
 * The pages' tables of settings, plans, limits and providers, the retry schedule, and what
 * test/bench/plan.ts prints, made from the source.
 * `npx -y bun@1.4.5 test/readme/tables.ts` writes them into the pages; readme.test.ts fails where they
 * differ.
 */
import { SETTINGS } from "../../src/config.ts";
import { LIMITS } from "../../src/core/limits.ts";
import { BUILT_IN_PLANS } from "../../src/core/plans.ts";
import { DEFAULT_SCHEDULE } from "../../src/core/retry.ts";
import { isByAddressAlone, type VerifiedWith } from "../../src/inbound/provider.ts";
import { listProviders } from "../../src/inbound/providers.ts";
import { EXAMPLE } from "../bench/plan-inputs.ts";
import {
  DAYS,
  daysTable,
  leversTable,
  simulateDays,
  sizesTable,
  sourcesTable,
} from "../bench/plan-tables.ts";
import { readPage } from "./blocks.ts";

type Unit = (typeof LIMITS)[keyof typeof LIMITS]["unit"];

/** Larger units that a number of seconds, or of bytes, is told in where it is a whole number of them. */
const TIMES: readonly [string, number][] = [
  ["days", 86_400],
  ["h", 3600],
  ["min", 60],
];
const SIZES: readonly [string, number][] = [
  ["MiB", 1024 * 1024],
  ["KiB", 1024],
];

/** What stands between `<!-- name -->` and `<!-- /name -->`. */
const PARTS: Readonly<Record<string, () => string>> = {
  settings: () => `\n${settingsTable()}\n`,
  limits: () => `\n${limitsTable()}\n`,
  plans: () => `\n${plansTable()}\n`,
  providers: () => `\n${providersTable()}\n`,
  "plan-inputs": () => planTable(sourcesTable()),
  "plan-sizes": () => planTable(sizesTable()),
  "plan-levers": () => planTable(leversTable()),
  "plan-days": () => planTable(daysTable(simulateDays({ ...DAYS, seed: 1 }, EXAMPLE))),
  schedule: () => `at once, then after ${DEFAULT_SCHEDULE.map(tellHours).join(", ")}`,
};

/** The page on which each part stands. */
export const PAGE_OF: Readonly<Record<string, string>> = {
  settings: "src/docs/limits.md",
  limits: "src/docs/limits.md",
  plans: "src/docs/tenants.md",
  providers: "src/docs/sources.md",
  "plan-inputs": "src/docs/planning.md",
  "plan-sizes": "src/docs/planning.md",
  "plan-levers": "src/docs/planning.md",
  "plan-days": "src/docs/planning.md",
  schedule: "src/docs/behaviour.md",
};

/** The page of a part with that part as the source has it. Throws where a marker is missing. */
export function fillTable(name: string, page: string): string {
  const between = new RegExp(`(?<=<!-- ${name} -->)[^]*?(?=<!-- /${name} -->)`);
  const make = PARTS[name];
  if (!make || !between.test(page)) throw new Error(`there is no <!-- ${name} --> … <!-- /${name} -->`);
  return page.replace(between, make);
}

function planTable({
  head,
  rows,
}: {
  head: readonly string[];
  rows: readonly (readonly string[])[];
}): string {
  return `\n${table(head, rows)}\n`;
}

function settingsTable(): string {
  const rows = Object.values(SETTINGS).map(({ name, about, defaultText, example }) => [
    `\`${name}\``,
    about,
    isValue(defaultText) ? `\`${defaultText}\`` : defaultText,
    `\`${example}\``,
  ]);
  return table(["Setting", "What it does", "Default", "Example"], rows);
}

/** A default that could be typed as it stands, not a sentence about one. */
function isValue(text: string): boolean {
  return text !== "none" && !text.includes(" ");
}

function plansTable(): string {
  const rows = Object.entries(BUILT_IN_PLANS).map(([name, { deliveries, blocks, retentionDays }]) => [
    `\`${name}\``,
    deliveries === null ? "any number" : deliveries.toLocaleString("en-US"),
    deliveries === null ? "" : blocks ? "stops" : "goes on, and counts the overage",
    `${retentionDays} days`,
  ]);
  return table(["Plan", "Deliveries a month", "Then it", "Keeps events for"], rows);
}

function limitsTable(): string {
  const rows = Object.entries(LIMITS).map(([name, { value, unit, why }]) => [
    `\`${name}\``,
    tell(value, unit),
    why,
  ]);
  return table(["Limit", "Value", "Why"], rows);
}

const PROOFS: readonly [VerifiedWith["kind"], string][] = [
  ["official_sdk", "the provider's own SDK"],
  ["library", "the library that the provider prescribes"],
  ["vector", "a signed request that the provider published"],
  ["documentation", "its documentation, computed twice independently"],
];

function providersTable(): string {
  const rows = PROOFS.map(([kind, proof]) => {
    const providers = listProviders().filter(({ verifiedWith }) => verifiedWith.kind === kind);
    return [
      `${proof} (${providers.length})`,
      providers
        .toSorted((a, b) => a.name.localeCompare(b.name, "en"))
        .map((provider) => `${provider.name}${isByAddressAlone(provider) ? " (by its address alone)" : ""}`)
        .join(", "),
    ];
  });
  return table([`Proven by (${listProviders().length} in all)`, "Providers"], rows);
}

/** A limit's value for people. */
export function tell(value: number, unit: Unit): string {
  if (unit === "bytes") return inLargest(value, "bytes", SIZES);
  if (unit === "ms") return inLargest(value / 1000, "s", TIMES);
  if (unit === "seconds") return inLargest(value, "s", TIMES);
  if (unit === "hours") return `${value} h`;
  const digits = value.toLocaleString("en-US");
  return unit === "count" ? digits : `${digits} ${unit}`;
}

/** As schedules are spoken of: never in days. */
function tellHours(seconds: number): string {
  return inLargest(seconds, "s", TIMES.slice(1));
}

function inLargest(value: number, smallest: string, units: readonly [string, number][]): string {
  const [unit, size] = units.find(([name, one]) => value % one === 0 && (name !== "days" || value > one)) ?? [
    smallest,
    1,
  ];
  return `${(value / size).toLocaleString("en-US")} ${unit}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}

/** Writes each part that differs into its page; the pages that were written. */
export async function writeTables(
  read: (path: string) => Promise<string>,
  write: (path: string, page: string) => Promise<unknown>,
): Promise<string[]> {
  const written = new Set<string>();
  for (const [name, path] of Object.entries(PAGE_OF)) {
    const page = await read(path);
    const filled = fillTable(name, page);
    if (filled === page) continue;
    await write(path, filled);
    written.add(path);
  }
  return [...written];
}

if (import.meta.main)
  for (const path of await writeTables(readPage, (page, text) => Bun.write(page, text)))
    console.log(`${path} is written anew`);
