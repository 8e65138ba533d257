import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { Fault } from "../../api.ts";
import { JsonEditor } from "../../components/json-editor.tsx";
import { Choice, Section } from "../../components/layout.tsx";
import { t } from "../../i18n.ts";

type Mode = "rows" | "json";

interface PartProps {
  title: string;
  /** Its JSON as it is typed. */
  text: string;
  onInput: (text: string) => void;
  faults: readonly Fault[];
  /** The same as rows; null where they could not give it back as it is. */
  rows: JSX.Element | null;
  words: { label: string; help: string; rowsHelp: string; cannot: string };
  placeholder: string;
  /** What else there is to say of it. */
  children?: ComponentChildren;
}

/**
 * A filter or transformations, built of rows or written as JSON: one goes over to the other and back without
 * a loss.
 */
export function Part(props: PartProps): JSX.Element {
  const { title, text, onInput, faults, rows, words, placeholder, children } = props;
  const [mode, setMode] = useState<Mode>(rows === null ? "json" : "rows");
  const choice = (
    <Choice<Mode>
      label={`${title}: ${t("shape.mode")}`}
      value={rows === null ? "json" : mode}
      options={[
        { value: "rows", text: t("shape.mode.rows") },
        { value: "json", text: t("shape.mode.json") },
      ]}
      onChange={setMode}
    />
  );
  return (
    <Section title={title} actions={choice}>
      {rows !== null && mode === "rows" ? (
        <>
          {rows}
          <p class="field-help">{words.rowsHelp}</p>
        </>
      ) : (
        <>
          {mode === "rows" && <p class="muted">{words.cannot}</p>}
          <JsonEditor
            label={words.label}
            help={words.help}
            value={text}
            onInput={onInput}
            faults={faults}
            placeholder={placeholder}
          />
        </>
      )}
      {children}
    </Section>
  );
}
