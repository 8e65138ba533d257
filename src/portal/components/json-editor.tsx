import type { JSX } from "preact";
import { useId } from "preact/hooks";
import type { Fault } from "../api.ts";
import { t } from "../i18n.ts";
import { findPlaces } from "../json/json-places.ts";
import { coloured } from "./code.tsx";

interface JsonEditorProps {
  label: string;
  help?: string;
  value: string;
  onInput: (value: string) => void;
  /** What the API said; pointers begin at this JSON's root. */
  faults: readonly Fault[];
  placeholder?: string;
}

/**
 * JSON as it is typed, coloured behind the text field; what is wrong stands below it, with its line, which
 * is marked.
 */
export function JsonEditor({
  label,
  help,
  value,
  onInput,
  faults,
  placeholder,
}: JsonEditorProps): JSX.Element {
  const id = useId();
  const problems = problemsOf(value, faults);
  const wrong = new Set(problems.map(({ line }) => line));
  return (
    <div class={problems.length > 0 ? "field wrong" : "field"}>
      <label for={id}>{label}</label>
      <div class="json-editor">
        <pre aria-hidden="true">
          {`${value}\n`.split("\n").map((line, at) => (
            <span key={at} class={wrong.has(at + 1) ? "line marked" : "line"}>
              {coloured(line)}
              {"\n"}
            </span>
          ))}
        </pre>
        <textarea
          id={id}
          class="mono"
          spellcheck={false}
          autocomplete="off"
          value={value}
          placeholder={placeholder}
          aria-invalid={problems.length > 0 ? "true" : undefined}
          aria-describedby={`${id}-problems ${id}-help`}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      </div>
      <div id={`${id}-problems`} class="field-error" aria-live="polite">
        {problems.map(({ line, text }) => (
          <p key={`${line} ${text}`}>{t("shape.line", { line, text })}</p>
        ))}
      </div>
      {help && (
        <p class="field-help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}

function problemsOf(value: string, faults: readonly Fault[]): { line: number; text: string }[] {
  if (value.trim() === "") return faults.map(({ detail }) => ({ line: 1, text: detail }));
  const { brokenAt, lineOf } = findPlaces(value);
  if (brokenAt !== null) return [{ line: brokenAt, text: t("shape.broken") }];
  return faults.map(({ pointer, detail }) => ({ line: lineOf(pointer), text: detail }));
}
