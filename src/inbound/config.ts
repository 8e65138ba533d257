import { addUnknownField } from "../core/errors.ts";
import { HTTP_TOKEN } from "../core/http-token.ts";
import { childPointer } from "../core/json/value.ts";
import type { Field } from "./provider.ts";
import type { Fault } from "../core/errors.ts";

/**
 * One entry of a source's `config` or `credentials`. `fault` says what is wrong with a value; null when it
 * can be used.
 */
export interface ConfigRule extends Field {
  /** A value that can be used, for documents. */
  readonly example: unknown;
  /** What may be left out, but had better not be. */
  readonly isAdvised?: true;
  fault(value: unknown): string | null;
}

function rule(
  name: string,
  label: string,
  help: string,
  fault: ConfigRule["fault"],
  example: unknown,
  required = false,
): ConfigRule {
  return { name, label, help, required, secret: false, fault, example };
}

/** Stands in for a value that only the customer has. */
function exampleOf(label: string): string {
  return `the-${label.toLowerCase().replaceAll(" ", "-")}`;
}

export function textConfig(name: string, label: string, help: string, required = false): ConfigRule {
  const isText = (value: unknown) => typeof value === "string" && value !== "" && value.length <= 1000;
  return rule(
    name,
    label,
    help,
    (value) => (isText(value) ? null : "Expected a text of 1 to 1000 characters."),
    exampleOf(label),
    required,
  );
}

/** A part of `credentials`: a text of any provider's length. */
export function credential(
  name: string,
  label: string,
  help: string,
  options: Partial<Omit<ConfigRule, "name" | "label" | "help">> = {},
): ConfigRule {
  const isText = (value: unknown) => typeof value === "string" && value !== "" && value.length <= 10_000;
  const fault = (value: unknown) => (isText(value) ? null : "Expected a text of 1 to 10000 characters.");
  return { name, label, help, required: true, secret: false, fault, example: exampleOf(label), ...options };
}

const HEADER_NAME_LENGTH_MAX = 128;

/** What is wrong with the name of a header. */
export function headerFault(value: unknown): string | null {
  const isName = typeof value === "string" && HTTP_TOKEN.test(value);
  return isName && value.length <= HEADER_NAME_LENGTH_MAX ? null : "Expected the name of a header.";
}

export function headerConfig(name: string, label: string, help: string, required = false): ConfigRule {
  return rule(name, label, help, headerFault, "x-signature", required);
}

const PATH = /^[^.]+(\.[^.]+)*$/;

export function pathConfig(name: string, label: string, help: string): ConfigRule {
  const isPath = (value: unknown) => typeof value === "string" && value.length <= 256 && PATH.test(value);
  const fault = (value: unknown) => (isPath(value) ? null : "Expected a dotted path into the body.");
  return rule(name, label, help, fault, "data.id");
}

export function choiceConfig(
  name: string,
  label: string,
  help: string,
  choices: readonly string[],
  required = false,
): ConfigRule {
  const isChoice = (value: unknown) => choices.some((choice) => choice === value);
  const fault = (value: unknown) => (isChoice(value) ? null : `Expected one of ${choices.join(", ")}.`);
  return { ...rule(name, label, help, fault, choices[0], required), choices };
}

const TOLERANCE_MAX_SECONDS = 86_400;

export const toleranceConfig: ConfigRule = {
  ...rule(
    "tolerance_seconds",
    "Tolerance in seconds",
    "How far the signed timestamp may lie from now; narrows the provider's own window, never widens it.",
    (value) =>
      Number.isInteger(value) && Number(value) >= 1 && Number(value) <= TOLERANCE_MAX_SECONDS
        ? null
        : `Expected a whole number from 1 to ${TOLERANCE_MAX_SECONDS}.`,
    60,
  ),
  type: "integer",
};

function isHttpUrl(value: unknown): boolean {
  const isText = typeof value === "string" && value.length <= 2048 && value.isWellFormed();
  const url = isText ? URL.parse(value) : null;
  return url !== null && (url.protocol === "https:" || url.protocol === "http:") && url.hash === "";
}

export const publicUrlConfig: ConfigRule = rule(
  "public_url",
  "Public address",
  "The address as it was entered at the provider, character for character, where it differs from the source's own (a proxy).",
  (value) => (isHttpUrl(value) ? null : "Expected an http or https address without a fragment."),
  "https://hooks.example.com/in",
);

/**
 * All that is wrong with the values under these rules; unknown names are refused. Pointers begin with
 * `/<part>`.
 */
export function faultsOf(
  part: "config" | "credentials",
  rules: readonly ConfigRule[],
  values: Readonly<Record<string, unknown>>,
): Fault[] {
  const known = new Set(rules.map((entry) => entry.name));
  const faults: Fault[] = [];
  for (const name of Object.keys(values))
    if (!known.has(name)) addUnknownField(faults, `/${part}`, name, "This provider has no such value.");
  for (const entry of rules) {
    const detail = Object.hasOwn(values, entry.name)
      ? entry.fault(values[entry.name])
      : faultOfMissing(part, entry);
    if (detail !== null) faults.push({ pointer: childPointer(`/${part}`, entry.name), detail });
  }
  return faults;
}

/** Credentials may come later: the source awaits them. */
function faultOfMissing(part: "config" | "credentials", entry: ConfigRule): string | null {
  return entry.required && part === "config" ? "This setting is required." : null;
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Tolerance in seconds": "Toleranz in Sekunden",
  "Public address": "Öffentliche Adresse",
  "How far the signed timestamp may lie from now; narrows the provider's own window, never widens it.":
    "Wie weit der signierte Zeitstempel von jetzt abweichen darf; verengt das Fenster des Anbieters, weitet es nie.",
  "The address as it was entered at the provider, character for character, where it differs from the source's own (a proxy).":
    "Die Adresse, wie sie beim Anbieter eingetragen ist, Zeichen für Zeichen, wenn sie von der eigenen der Quelle abweicht (ein Proxy).",
};
