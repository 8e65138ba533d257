import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { type Fault, send } from "../api.ts";
import { Button } from "../components/button.tsx";
import { Json as JsonText } from "../components/code.tsx";
import { Section } from "../components/layout.tsx";
import { parseExact } from "../json/exact-json.ts";
import { toFilter, toRows, writePath } from "../forms/filter-rows.ts";
import { isObject, type Json, type JsonObject } from "../../core/json/value.ts";
import { t } from "../i18n.ts";
import { may } from "../session.ts";
import type { Endpoint } from "../types.ts";
import { act } from "./parts/actions.ts";
import { FilterWarnings } from "./parts/filter-warnings.tsx";
import { useUnsaved } from "./parts/unsaved.ts";
import type { Left } from "./shape/drafts.ts";
import { Part } from "./shape/part.tsx";
import { type Draft as RuleDraft, RowsEditor } from "./shape/rows-editor.tsx";
import { Samples } from "./shape/samples.tsx";
import { type Draft as StepDraft, StepsEditor } from "./shape/steps-editor.tsx";
import { faultsIn, type Preview, type Shape, usePreview } from "./shape/use-preview.ts";

interface ShapeProps {
  endpoint: Endpoint;
}

/** Which events an endpoint gets, and in what form: tried on the consumer's own events as one types. */
export function EndpointShape({ endpoint }: ShapeProps): JSX.Element {
  return may.manage ? <Editors endpoint={endpoint} /> : <Reading endpoint={endpoint} />;
}

function Reading({ endpoint: { id, filter, transformations } }: ShapeProps): JSX.Element {
  const { preview, message } = usePreview(id, { filter, transformations });
  return (
    <>
      <Section title={t("endpoint.filter")}>
        {filter ? (
          <JsonText value={filter} label={t("endpoint.filter")} />
        ) : (
          <p>{t("endpoint.filter.none")}</p>
        )}
      </Section>
      <Section title={t("shape.transformations")}>
        {transformations ? (
          <JsonText value={transformations} label={t("shape.transformations")} />
        ) : (
          <p>{t("shape.transformations.none")}</p>
        )}
      </Section>
      <Samples preview={preview} message={message} />
    </>
  );
}

const EXAMPLE_FILTER = '{ "data": { "total": { "$gte": 100 } } }';
const EXAMPLE_TRANSFORMATIONS = '[{ "op": "omit", "paths": ["data.email"] }]';

function Editors({ endpoint }: ShapeProps): JSX.Element {
  const { id, filter, transformations } = endpoint;
  const [filterText, setFilter] = useState(textOf(filter));
  const [changeText, setChange] = useState(textOf(transformations));
  const shape = shapeOf(filterText, changeText);
  const { preview, faults, message } = usePreview(id, shape);
  const saved = JSON.stringify({ filter, transformations });
  const isChanged = shape === null || JSON.stringify(shape) !== saved;
  useUnsaved(isChanged);
  const [isBusy, setBusy] = useState(false);
  /** Counts how often it was discarded: rows then begin anew. */
  const [round, setRound] = useState(0);
  const save = async () => {
    setBusy(true);
    await act(() => send("PATCH", `/v1/endpoints/${id}`, shape), t("shape.saved"));
    setBusy(false);
  };
  const reset = () => {
    setFilter(textOf(filter));
    setChange(textOf(transformations));
    setRound(round + 1);
  };
  const canSave = shape !== null && faults.length === 0;
  const fields = fieldsOf(preview);
  return (
    <>
      <FilterPart
        key={`filter ${round}`}
        text={filterText}
        onInput={setFilter}
        faults={faultsIn(faults, "filter")}
        warnings={preview?.warnings ?? []}
        fields={fields}
      />
      <TransformationsPart
        key={`transformations ${round}`}
        text={changeText}
        onInput={setChange}
        faults={faultsIn(faults, "transformations")}
        fields={fields}
      />
      {isChanged && <SaveBar canSave={canSave} isBusy={isBusy} onSave={() => void save()} onReset={reset} />}
      <Samples preview={preview} message={message} />
    </>
  );
}

interface SaveBarProps {
  canSave: boolean;
  isBusy: boolean;
  onSave: () => void;
  onReset: () => void;
}

function SaveBar({ canSave, isBusy, onSave, onReset }: SaveBarProps): JSX.Element {
  return (
    <div class="save-bar">
      <span class="muted">{canSave ? t("shape.unsaved") : t("shape.wrong")}</span>
      <Button onClick={onReset}>{t("shape.reset")}</Button>
      {canSave && (
        <Button kind="primary" busy={isBusy} onClick={onSave}>
          {t("shape.save")}
        </Button>
      )}
    </div>
  );
}

interface EditorProps {
  text: string;
  onInput: (text: string) => void;
  faults: ReturnType<typeof faultsIn>;
  /** Of the events that are shown, to choose from. */
  fields: readonly string[];
}

function FilterPart({
  text,
  onInput,
  faults,
  fields,
  warnings,
}: EditorProps & { warnings: readonly Fault[] }): JSX.Element {
  const keeper = useRef<Left<RuleDraft> | null>(null);
  const filter = rowable(parse(text));
  const rows = filter && (
    <RowsEditor
      filter={filter}
      onChange={(made) => onInput(textOf(made))}
      fields={fields}
      faults={faults}
      keeper={keeper}
    />
  );
  return (
    <Part
      title={t("endpoint.filter")}
      text={text}
      onInput={onInput}
      faults={faults}
      rows={rows}
      words={{
        label: t("shape.filter.label"),
        help: t("shape.filter.help"),
        rowsHelp: t("shape.rows.help"),
        cannot: t("shape.rows.cannot"),
      }}
      placeholder={EXAMPLE_FILTER}
    >
      <FilterWarnings warnings={warnings} />
    </Part>
  );
}

function TransformationsPart({ text, onInput, faults, fields }: EditorProps): JSX.Element {
  const keeper = useRef<Left<StepDraft> | null>(null);
  const list = parse(text) ?? (text.trim() === "" ? [] : null);
  const rows = Array.isArray(list) ? (
    <StepsEditor
      transformations={list as Json[]}
      onChange={(made) => onInput(textOf(made))}
      fields={fields}
      faults={faults}
      keeper={keeper}
    />
  ) : null;
  return (
    <Part
      title={t("shape.transformations")}
      text={text}
      onInput={onInput}
      faults={faults}
      rows={rows}
      words={{
        label: t("shape.transformations.label"),
        help: t("shape.transformations.help"),
        rowsHelp: t("shape.steps.help"),
        cannot: t("shape.steps.cannot"),
      }}
      placeholder={EXAMPLE_TRANSFORMATIONS}
    />
  );
}

/** The filter where rows give it back as it is; null where they could not. */
function rowable(value: unknown): JsonObject | null {
  if (value === null) return {};
  if (!isObject(value)) return null;
  const filter = value as JsonObject;
  return JSON.stringify(toFilter(toRows(filter))) === JSON.stringify(filter) ? filter : null;
}

const FIELDS_MAX = 200;

/** Every field of the events that are shown. */
function fieldsOf(preview: Preview | null): string[] {
  const found = new Set<string>();
  const add = (value: unknown, path: string[]) => {
    if (found.size >= FIELDS_MAX) return;
    if (path.length > 0) found.add(writePath(path));
    if (!isObject(value)) return;
    for (const [name, below] of Object.entries(value)) add(below, [...path, name]);
  };
  for (const { before } of preview?.samples ?? []) add(before, []);
  return [...found].sort();
}

function textOf(value: unknown): string {
  return value === null || value === undefined ? "" : JSON.stringify(value, null, 2);
}

/** Empty is null: no filter, no transformations. undefined: no JSON. */
function parse(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

function shapeOf(filterText: string, changeText: string): Shape | null {
  const [filter, transformations] = [parse(filterText), parse(changeText)];
  return filter === undefined || transformations === undefined ? null : { filter, transformations };
}
