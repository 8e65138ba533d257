import type { JSX } from "preact";
import { useId } from "preact/hooks";
import type { Fault } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import type { Json } from "../../../core/json/value.ts";
import { Code } from "../../components/code.tsx";
import {
  OPERATORS,
  type Operator,
  readPath,
  readValue,
  type Row,
  toFilter,
  toRows,
  writePath,
  writeValue,
} from "../../forms/filter-rows.ts";
import { t } from "../../i18n.ts";
import { type Keeper, useDrafts } from "./drafts.ts";
import { Faults } from "./faults.tsx";

/** A row as it is typed: it becomes part of the filter once it names a field. */
export interface Draft {
  field: string;
  operator: Operator;
  value: string;
  /** What stays as JSON. */
  kept: Row | null;
}

interface RowsEditorProps {
  filter: { [name: string]: Json };
  onChange: (filter: { [name: string]: Json } | null) => void;
  /** Fields that events have, to choose from. */
  fields: readonly string[];
  faults: readonly Fault[];
  keeper: Keeper<Draft>;
}

export function RowsEditor({ filter, onChange, fields, faults, keeper }: RowsEditorProps): JSX.Element {
  const write = (next: readonly Draft[]) => {
    const rows = next.flatMap(rowOf);
    return rows.length === 0 ? null : toFilter(rows);
  };
  const json = Object.keys(filter).length === 0 ? null : filter;
  const [drafts, keep] = useDrafts(json, keeper, () => toRows(filter).map(draftOf), write);
  const list = useId();
  const change = (next: readonly Draft[]) => {
    keep(next);
    onChange(write(next));
  };
  const put = (at: number, part: Partial<Draft>) =>
    change(drafts.map((draft, nth) => (nth === at ? { ...draft, ...part } : draft)));
  const drop = (at: number) => change(drafts.filter((_draft, nth) => nth !== at));
  return (
    <div class="rules" role="group" aria-label={t("endpoint.filter")}>
      <datalist id={list}>
        {fields.map((field) => (
          <option key={field} value={field} />
        ))}
      </datalist>
      {drafts.length === 0 && <p class="muted">{t("shape.rows.none")}</p>}
      {drafts.map((draft, at) =>
        draft.kept ? (
          <Kept key={at} row={draft.kept} onDrop={() => drop(at)} />
        ) : (
          <DraftRow
            key={at}
            draft={draft}
            list={list}
            onPut={(part) => put(at, part)}
            onDrop={() => drop(at)}
          />
        ),
      )}
      <Faults faults={faults} />
      <Button
        icon="plus"
        onClick={() => change([...drafts, { field: "", operator: "is", value: "", kept: null }])}
      >
        {t("shape.rows.add")}
      </Button>
    </div>
  );
}

interface DraftRowProps {
  draft: Draft;
  list: string;
  onPut: (part: Partial<Draft>) => void;
  onDrop: () => void;
}

function DraftRow({ draft, list, onPut, onDrop }: DraftRowProps): JSX.Element {
  return (
    <div class="rule-row">
      <input
        class="mono"
        list={list}
        aria-label={t("shape.rows.field")}
        placeholder="data.total"
        autocomplete="off"
        value={draft.field}
        onInput={(event) => onPut({ field: event.currentTarget.value })}
      />
      <select
        aria-label={t("shape.rows.operator")}
        value={draft.operator}
        onChange={(event) => onPut({ operator: event.currentTarget.value as Operator })}
      >
        {OPERATORS.map((operator) => (
          <option key={operator} value={operator}>
            {t(`shape.op.${operator.replace("$", "") as "is"}`)}
          </option>
        ))}
      </select>
      <input
        class="mono"
        aria-label={t("shape.rows.value")}
        placeholder={draft.operator === "$exist" ? "true" : undefined}
        autocomplete="off"
        value={draft.value}
        onInput={(event) => onPut({ value: event.currentTarget.value })}
      />
      <Button kind="quiet" icon="cross" onClick={onDrop}>
        {t("shape.rows.drop")}
      </Button>
    </div>
  );
}

/** A part that rows cannot show: it stays as it is. */
function Kept({ row, onDrop }: { row: Row; onDrop: () => void }): JSX.Element {
  return (
    <div class="rule-kept">
      <p class="muted small">{t("shape.rows.kept")}</p>
      <Code
        text={`${writePath(row.path)}: ${JSON.stringify(row.value, null, 2)}`}
        label={writePath(row.path)}
        json
      />
      <Button kind="quiet" icon="cross" onClick={onDrop}>
        {t("shape.rows.drop")}
      </Button>
    </div>
  );
}

function draftOf(row: Row): Draft {
  if (row.operator === "json") return { field: "", operator: "json", value: "", kept: row };
  const { path, operator, value } = row;
  return { field: writePath(path), operator, value: writeValue(value, operator), kept: null };
}

function rowOf({ field, operator, value, kept }: Draft): Row[] {
  if (kept) return [kept];
  if (field.trim() === "") return [];
  const given = operator === "$exist" && value === "" ? true : readValue(value, operator);
  return [{ path: readPath(field), operator, value: given }];
}
