import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { t } from "../i18n.ts";
import { layOut } from "../json/json-layout.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./id.tsx";

/**
 * Bodies, headers and code of strangers: always text, never markup. JSON is coloured by cutting it
 * into spans.
 */
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Longer texts are shown without colours: a span for each word of a megabyte is more than a page bears. */
const COLOURED_MAX = 100_000;

export function coloured(text: string): (string | JSX.Element)[] {
  const parts: (string | JSX.Element)[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon] = match;
    parts.push(text.slice(end, match.index));
    const kind = string === undefined ? "literal" : colon === undefined ? "string" : "name";
    parts.push(<span class={`j-${kind}`}>{string ?? whole}</span>, colon ?? "");
    end = match.index + whole.length;
  }
  parts.push(text.slice(end));
  return parts;
}

interface CodeProps {
  text: string;
  /** What it is, for the copy button and for screen readers. */
  label: string;
  /** Coloured as JSON. */
  json?: boolean;
  actions?: JSX.Element;
}

export function Code({ text, label, json = false, actions }: CodeProps): JSX.Element {
  return (
    <figure class="code">
      <figcaption>
        <span>{label}</span>
        <span class="code-actions">
          {actions}
          <CopyButton text={text} what={label} />
        </span>
      </figcaption>
      {/* It scrolls, so it has to take the focus. */}
      <pre tabIndex={0} aria-label={label}>
        <code>{json && text.length <= COLOURED_MAX ? coloured(text) : text}</code>
      </pre>
    </figure>
  );
}

/** A body as it came: laid out where it is JSON, with the raw text on demand. */
export function Body({ text, label }: { text: string; label: string }): JSX.Element {
  const [isRaw, setRaw] = useState(false);
  const pretty = layOut(text);
  if (text === "") return <p class="muted">{t("code.empty")}</p>;
  if (pretty === null) return <Code text={text} label={label} />;
  const toggle = (
    <Button kind="quiet" pressed={isRaw} onClick={() => setRaw(!isRaw)}>
      {t("code.raw")}
    </Button>
  );
  return <Code text={isRaw ? text : pretty} label={label} json actions={toggle} />;
}

export function Json({ value, label }: { value: unknown; label: string }): JSX.Element {
  return <Code text={JSON.stringify(value, null, 2)} label={label} json />;
}
