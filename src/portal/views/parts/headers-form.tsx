import type { JSX } from "preact";
import { Button } from "../../components/button.tsx";
import { errorAt } from "../../components/field.tsx";
import { t } from "../../i18n.ts";
import { MASK } from "./config-form.tsx";

export type HeaderRows = readonly (readonly [name: string, value: string])[];

interface HeadersFormProps {
  rows: HeaderRows;
  onChange: (rows: HeaderRows) => void;
  error: unknown;
  /** What is stored does not stay: it is asked for again. */
  asksAgain?: boolean;
}

/** Headers that go out with every delivery. A credential reads `***`; left so, it stays what it is. */
export function HeadersForm({ rows, onChange, error, asksAgain = false }: HeadersFormProps): JSX.Element {
  const set = (at: number, row: readonly [string, string] | null) =>
    onChange(rows.flatMap((one, index) => (index === at ? (row === null ? [] : [row]) : [one])));
  return (
    <fieldset class="headers">
      <legend>{t("headers.legend")}</legend>
      <p class="field-help">{t("headers.help")}</p>
      {rows.map(([name, value], at) => (
        <HeaderRow
          key={at}
          name={name}
          value={value}
          error={error}
          isAsked={asksAgain && value === MASK}
          onChange={(row) => set(at, row)}
        />
      ))}
      {errorAt(error, "/headers") && !rows.some(([name]) => errorAt(error, pointerOf(name))) && (
        <p class="field-error" role="alert">
          {errorAt(error, "/headers")}
        </p>
      )}
      <Button icon="plus" onClick={() => onChange([...rows, ["", ""]])}>
        {t("headers.add")}
      </Button>
    </fieldset>
  );
}

interface HeaderRowProps {
  name: string;
  value: string;
  error: unknown;
  /** Its value is stored, and must be given again. */
  isAsked: boolean;
  onChange: (row: readonly [string, string] | null) => void;
}

function HeaderRow({ name, value, error, isAsked, onChange }: HeaderRowProps): JSX.Element {
  const fault = name === "" ? null : errorAt(error, pointerOf(name));
  return (
    <div class={fault ? "header-row wrong" : "header-row"}>
      <input
        class="mono"
        aria-label={t("headers.name")}
        placeholder="x-tenant"
        value={name}
        onInput={(event) => onChange([event.currentTarget.value, value])}
      />
      <input
        class="mono"
        aria-label={t("headers.value", { name })}
        value={isAsked ? "" : value}
        required={isAsked}
        {...(isAsked && { placeholder: t("config.again") })}
        onInput={(event) => onChange([name, event.currentTarget.value])}
      />
      <Button kind="quiet" icon="cross" onClick={() => onChange(null)}>
        <span class="hidden">{t("headers.remove", { name })}</span>
      </Button>
      {fault && (
        <p class="field-error" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

/** RFC 6901. */
function pointerOf(name: string): string {
  return `/headers/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
