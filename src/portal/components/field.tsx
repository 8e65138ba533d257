import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { ApiError, type Fault } from "../api.ts";

/**
 * Fields of forms. An error stands at its field: `errorAt(error, "/config/url")` finds it in what the
 * API answered.
 */

/** The API's words about this field, or anything in it. */
export function errorAt(error: unknown, pointer: string): string | null {
  if (!(error instanceof ApiError)) return null;
  const found = error.faults.find((fault) => isIn(fault, pointer));
  return found?.detail ?? null;
}

/** What the API said about none of these fields. */
export function otherFaults(error: unknown, pointers: readonly string[]): string[] {
  if (!(error instanceof ApiError)) return [];
  if (error.faults.length === 0) return [error.detail];
  const others = error.faults.filter((fault) => !pointers.some((pointer) => isIn(fault, pointer)));
  return others.map(({ pointer, detail }) => `${pointer}: ${detail}`);
}

function isIn({ pointer }: Fault, place: string): boolean {
  return pointer === place || pointer.startsWith(`${place}/`);
}

interface FieldProps {
  label: string;
  help?: ComponentChildren;
  error?: string | null;
  /** Says that it may stay empty. */
  optional?: string;
}

interface Wiring {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": "true" | undefined;
}

/** Label, control, help and error, tied together; `control` is given what ties them. */
function Field({
  label,
  help,
  error,
  optional,
  control,
}: FieldProps & { control: (wiring: Wiring) => ComponentChildren }): JSX.Element {
  const id = useId();
  const described = [help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class={error ? "field wrong" : "field"}>
      <label for={id}>
        {label} {optional && <span class="muted">{optional}</span>}
      </label>
      {control({
        id,
        "aria-describedby": described === "" ? undefined : described,
        "aria-invalid": error ? "true" : undefined,
      })}
      {error && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
      {help && (
        <p class="field-help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}

type TextProps = FieldProps & {
  value: string;
  onInput: (value: string) => void;
  /** More than one line. */
  rows?: number;
  /** Default `text`. */
  type?: string;
  placeholder?: string;
  required?: boolean;
  mono?: boolean;
};

export function TextField({
  value,
  onInput,
  rows,
  type = "text",
  placeholder,
  required,
  mono,
  ...field
}: TextProps): JSX.Element {
  const shared = {
    value,
    placeholder,
    required,
    class: mono ? "mono" : undefined,
    spellcheck: false,
    autocomplete: "off",
  };
  const read = (event: { currentTarget: { value: string } }) => onInput(event.currentTarget.value);
  return (
    <Field
      {...field}
      control={(wiring) =>
        rows === undefined ? (
          <input {...({ ...shared, ...wiring, type, onInput: read } as object)} />
        ) : (
          <textarea {...shared} {...wiring} rows={rows} onInput={read} />
        )
      }
    />
  );
}

type SelectProps = FieldProps & {
  value: string;
  onChange: (value: string) => void;
  options: readonly { value: string; text: string }[];
};

export function SelectField({ value, onChange, options, ...field }: SelectProps): JSX.Element {
  return (
    <Field
      {...field}
      control={(wiring) => (
        <select {...wiring} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </select>
      )}
    />
  );
}

export function CheckField({
  label,
  checked,
  onChange,
  help,
}: {
  label: ComponentChildren;
  checked: boolean;
  onChange: (checked: boolean) => void;
  help?: ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        aria-describedby={help ? `${id}-help` : undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {help && (
        <p class="field-help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}

/** What is wrong with a form as a whole. */
export function FormErrors({ messages }: { messages: readonly string[] }): JSX.Element | null {
  if (messages.length === 0) return null;
  return (
    <div class="notice bad" role="alert">
      {messages.map((message) => (
        <p key={message}>{message}</p>
      ))}
    </div>
  );
}
