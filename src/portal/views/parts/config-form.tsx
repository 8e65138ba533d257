import type { JSX } from "preact";
import { CheckField, errorAt, TextField } from "../../components/field.tsx";
import { t } from "../../i18n.ts";
import type { DestinationKind, KindField } from "../../types.ts";

/** Values of a kind's fields as they stand in the form; a secret that is stored and not touched is left out. */
export type ConfigValues = Readonly<Record<string, string | boolean>>;

/** Stands for a secret that the service keeps, in what it answers and in what it is sent. */
export const MASK = "***";

interface ConfigFormProps {
  kind: DestinationKind;
  values: ConfigValues;
  onChange: (values: ConfigValues) => void;
  /** What the API said of it. */
  error: unknown;
  /** Names of secrets that are stored already. */
  stored?: ReadonlySet<string>;
}

/** The fields of a kind, made from its row: what must be given, and behind a fold what may be. */
export function ConfigForm({
  kind,
  values,
  onChange,
  error,
  stored = new Set(),
}: ConfigFormProps): JSX.Element {
  const required = kind.fields.filter((field) => field.required);
  const optional = kind.fields.filter((field) => !field.required);
  const isOpen = optional.some(({ name }) => values[name] !== undefined || faultAt(error, name) !== null);
  const show = (field: KindField) => (
    <ConfigField
      key={field.name}
      field={field}
      value={values[field.name]}
      isStored={stored.has(field.name)}
      error={faultAt(error, field.name)}
      onInput={(value) => onChange({ ...values, [field.name]: value })}
    />
  );
  return (
    <>
      {required.map(show)}
      {optional.length > 0 && (
        <details class="fold" open={isOpen}>
          <summary>{t("config.more")}</summary>
          {optional.map(show)}
        </details>
      )}
    </>
  );
}

/** The API points at `/url` where the address was given at the top. */
function faultAt(error: unknown, name: string): string | null {
  return errorAt(error, `/config/${name}`) ?? (name === "url" ? errorAt(error, "/url") : null);
}

interface ConfigFieldProps {
  field: KindField;
  value: string | boolean | undefined;
  isStored: boolean;
  error: string | null;
  onInput: (value: string | boolean) => void;
}

function ConfigField({ field, value, isStored, error, onInput }: ConfigFieldProps): JSX.Element {
  const { name, label, help, required, secret, address, type } = field;
  if (type === "boolean") {
    // Such a field holds unless it is said not to.
    return <CheckField label={label} help={help} checked={value !== false} onChange={onInput} />;
  }
  const isLong = name.endsWith("_json");
  const kindOfInput = secret ? "password" : address ? "url" : "text";
  return (
    <TextField
      label={label}
      help={help}
      error={error}
      value={String(value ?? "")}
      onInput={onInput}
      mono={secret || address}
      required={required && !isStored}
      {...(isStored && { placeholder: t("config.stored") })}
      {...(!required && { optional: t("form.optional") })}
      {...(isLong ? { rows: 6 } : { type: kindOfInput })}
    />
  );
}

/** What is sent: texts without the spaces around them, nothing where a field is empty, and the mask for what stays stored. */
export function configOf(
  kind: DestinationKind,
  values: ConfigValues,
  stored: ReadonlySet<string>,
): Record<string, unknown> {
  return Object.fromEntries(
    kind.fields.flatMap(({ name }): [string, unknown][] => {
      const value = values[name];
      if (typeof value === "boolean") return [[name, value]];
      const text = value?.trim() ?? "";
      if (text !== "") return [[name, text]];
      return stored.has(name) ? [[name, MASK]] : [];
    }),
  );
}

/** The form as an endpoint fills it: its secrets are not there, only that they are. */
export function valuesOf(config: Readonly<Record<string, unknown>>): {
  values: ConfigValues;
  stored: Set<string>;
} {
  const entries = Object.entries(config);
  const stored = new Set(entries.filter(([, value]) => value === MASK).map(([name]) => name));
  const open = entries.filter(
    (entry): entry is [string, string | boolean] =>
      !stored.has(entry[0]) && (typeof entry[1] === "string" || typeof entry[1] === "boolean"),
  );
  return { values: Object.fromEntries(open), stored };
}
