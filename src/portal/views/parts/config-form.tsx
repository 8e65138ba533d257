import type { ComponentChildren, JSX } from "preact";
import { CheckField, errorAt, SelectField, TextField } from "../../components/field.tsx";
import { fieldText, t } from "../../i18n.ts";
import type { FormField } from "../../types.ts";

/** Values of fields as they stand in the form; a secret that is stored and not touched is left out. */
export type ConfigValues = Readonly<Record<string, string | boolean>>;

/** Stands for a secret that the service keeps, in what it answers and in what it is sent. */
export const MASK = "***";

interface ConfigFormProps {
  fields: readonly FormField[];
  values: ConfigValues;
  onChange: (values: ConfigValues) => void;
  /** What the API said of it. */
  error: unknown;
  /** Names of secrets that are stored already. */
  stored?: ReadonlySet<string>;
  /** What is stored does not stay: it is asked for again. */
  asksAgain?: boolean;
  /** Where the API points at a field. */
  pointersOf?: (name: string) => readonly string[];
  /** Optional fields stand behind no fold. */
  isFlat?: boolean;
}

/**
 * The fields of a kind or a provider, made from its row: what must be given, and behind a fold what may be.
 */
export function ConfigForm({
  fields,
  values,
  onChange,
  error,
  stored = new Set(),
  asksAgain = false,
  pointersOf = inConfig,
  isFlat = false,
}: ConfigFormProps): JSX.Element {
  const faultAt = (name: string) =>
    pointersOf(name)
      .map((pointer) => errorAt(error, pointer))
      .find((fault) => fault !== null) ?? null;
  const first = fields.filter((field) => isFlat || field.required);
  const folded = fields.filter((field) => !first.includes(field));
  const isOpen = folded.some(
    ({ name }) => values[name] !== undefined || faultAt(name) !== null || (asksAgain && stored.has(name)),
  );
  const show = (field: FormField) => (
    <ConfigField
      key={field.name}
      field={field}
      value={values[field.name]}
      isStored={stored.has(field.name)}
      asksAgain={asksAgain}
      error={faultAt(field.name)}
      onInput={(value) => onChange({ ...values, [field.name]: value })}
    />
  );
  return (
    <>
      {first.map(show)}
      {folded.length > 0 && (
        <details class="fold" open={isOpen}>
          <summary>{t("config.more")}</summary>
          {folded.map(show)}
        </details>
      )}
    </>
  );
}

/** The API points at `/url` where the address was given at the top. */
function inConfig(name: string): string[] {
  return [`/config/${name}`, ...(name === "url" ? ["/url"] : [])];
}

interface ConfigFieldProps {
  field: FormField;
  value: string | boolean | undefined;
  isStored: boolean;
  asksAgain: boolean;
  error: string | null;
  onInput: (value: string | boolean) => void;
}

function ConfigField(props: ConfigFieldProps): JSX.Element {
  const { field, value, isStored, asksAgain, error, onInput } = props;
  const { name, required, secret, address = false, type, choices } = field;
  const [label, help] = [fieldText(field.label), fieldText(field.help)];
  if (type === "boolean") {
    // Such a field holds unless it is said not to.
    return <CheckField label={label} help={help} checked={value !== false} onChange={onInput} />;
  }
  const optional = !required && { optional: t("form.optional") };
  if (choices) {
    return (
      <SelectField
        label={label}
        help={help}
        error={error}
        value={String(value ?? "")}
        onChange={onInput}
        options={["", ...choices].map((choice) => ({ value: choice, text: choice || t("config.choose") }))}
        {...optional}
      />
    );
  }
  const isLong = name.endsWith("_json") || (name === "signing_secret" && !secret);
  const kindOfInput = secret ? "password" : address ? "url" : type === "integer" ? "number" : "text";
  return (
    <TextField
      label={label}
      help={help}
      error={error}
      value={String(value ?? "")}
      onInput={onInput}
      mono={secret || address}
      required={required && (!isStored || asksAgain)}
      {...(isStored && { placeholder: t(asksAgain ? "config.again" : "config.stored") })}
      {...optional}
      {...(isLong ? { rows: 6 } : { type: kindOfInput })}
    />
  );
}

/**
 * What is sent: texts without the spaces around them, nothing where a field is empty, and the mask for what
 * stays stored.
 */
export function configOf(
  fields: readonly FormField[],
  values: ConfigValues,
  stored: ReadonlySet<string>,
): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap(({ name, type }): [string, unknown][] => {
      const value = values[name];
      if (typeof value === "boolean") return [[name, value]];
      const text = value?.trim() ?? "";
      if (text !== "") return [[name, type === "integer" ? Number(text) : text]];
      return stored.has(name) ? [[name, MASK]] : [];
    }),
  );
}

/** The form as what is stored fills it: its secrets are not there, only that they are. */
export function valuesOf(config: Readonly<Record<string, unknown>>): {
  values: ConfigValues;
  stored: Set<string>;
} {
  const entries = Object.entries(config);
  const stored = new Set(entries.filter(([, value]) => value === MASK).map(([name]) => name));
  const open = entries.filter(
    ([name, value]) => !stored.has(name) && ["string", "boolean", "number"].includes(typeof value),
  );
  const values = open.map(([name, value]) => [name, typeof value === "boolean" ? value : String(value)]);
  return { values: Object.fromEntries(values) as ConfigValues, stored };
}

/** The fields that are set, for whoever only reads. */
export function configFacts(
  fields: readonly Pick<FormField, "name" | "label">[],
  config: Readonly<Record<string, unknown>>,
): [string, ComponentChildren][] {
  return fields.flatMap(({ name, label }): [string, ComponentChildren][] => {
    const value = config[name];
    return value === undefined
      ? []
      : [
          [
            fieldText(label),
            <code key={name}>{typeof value === "string" ? value : JSON.stringify(value)}</code>,
          ],
        ];
  });
}
