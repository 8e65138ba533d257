import type { JSX } from "preact";
import { useId, useRef } from "preact/hooks";
import type { Fault } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { Icon } from "../../components/icons.tsx";
import type { Json } from "../../../core/json/value.ts";
import { t } from "../../i18n.ts";
import {
  isList,
  OPERATIONS,
  type Operation,
  SLOTS,
  type Step,
  toOperation,
  toSteps,
  toTransformations,
  turnInto,
} from "../../forms/transformation-steps.ts";
import { type Keeper, useDrafts } from "./drafts.ts";
import { Faults } from "./faults.tsx";

interface StepsEditorProps {
  transformations: readonly Json[];
  onChange: (transformations: Json[] | null) => void;
  /** Fields that events have, to choose from. */
  fields: readonly string[];
  /** What the API said; pointers begin at the list. */
  faults: readonly Fault[];
  keeper: Keeper<Draft>;
}

/** A step as it is typed; `key` goes with it when it is moved. */
export type Draft = Step & { key: number };

let lastKey = 0;

function draftOf(step: Step): Draft {
  return { ...step, key: ++lastKey };
}

const FIRST: Step = { op: "pick", fields: [""] };

/** Transformations as steps in their order. */
export function StepsEditor(props: StepsEditorProps): JSX.Element {
  const { fields, faults } = props;
  const { steps, list, put, move, add } = useSteps(props);
  const datalist = useId();
  return (
    <div class="changes" role="group" aria-label={t("shape.transformations")}>
      <datalist id={datalist}>
        {fields.map((field) => (
          <option key={field} value={field} />
        ))}
      </datalist>
      {steps.length === 0 && <p class="muted">{t("shape.transformations.none")}</p>}
      <ol ref={list}>
        {steps.map((step, at) => (
          <li key={step.key}>
            <StepCard
              step={step}
              nth={at + 1}
              datalist={datalist}
              faults={faultsOf(faults, steps, at)}
              onPut={(made) => put(at, [{ ...made, key: step.key }])}
              onDrop={() => put(at, [])}
              onUp={at > 0 ? () => move(at, -1) : null}
              onDown={at < steps.length - 1 ? () => move(at, 1) : null}
            />
          </li>
        ))}
      </ol>
      <Faults faults={faults.filter(({ pointer }) => pointer === "")} />
      <Button icon="plus" onClick={add}>
        {t("shape.steps.add")}
      </Button>
    </div>
  );
}

function listOf(steps: readonly Step[]): Json[] | null {
  const list = toTransformations(steps);
  return list.length === 0 ? null : list;
}

function useSteps({ transformations, onChange, keeper }: StepsEditorProps) {
  const json = transformations.length === 0 ? null : transformations;
  const [steps, keep] = useDrafts(json, keeper, () => toSteps(transformations).map(draftOf), listOf);
  const list = useRef<HTMLOListElement>(null);
  const change = (next: readonly Draft[]) => {
    keep(next);
    onChange(listOf(next));
  };
  /** The button goes with its step, and keeps the focus. */
  const move = (at: number, by: 1 | -1) => {
    const first = Math.min(at, at + by);
    change(steps.toSpliced(first, 2, ...steps.slice(first, first + 2).toReversed()));
    requestAnimationFrame(() => {
      const buttons = list.current?.children[at + by]?.querySelectorAll<HTMLElement>(".mover");
      buttons?.[by === 1 ? 1 : 0]?.focus();
    });
  };
  return {
    steps,
    list,
    move,
    put: (at: number, made: readonly Draft[]) => change(steps.toSpliced(at, 1, ...made)),
    add: () => change([...steps, draftOf(FIRST)]),
  };
}

/** The faults of one step. A step that is not complete was not sent, and is not counted. */
function faultsOf(faults: readonly Fault[], steps: readonly Step[], at: number): Fault[] {
  const isComplete = (step: Step) => toOperation(step) !== null;
  const [step] = steps.slice(at);
  if (!step || !isComplete(step)) return [];
  const place = `/${steps.slice(0, at).filter(isComplete).length}`;
  return faults.filter(({ pointer }) => pointer === place || pointer.startsWith(`${place}/`));
}

interface StepCardProps {
  step: Step;
  nth: number;
  datalist: string;
  faults: readonly Fault[];
  onPut: (step: Step) => void;
  onDrop: () => void;
  /** null: it is the first, or the last. */
  onUp: (() => void) | null;
  onDown: (() => void) | null;
}

function StepCard(props: StepCardProps): JSX.Element {
  const { step, nth, datalist, faults, onPut, onDrop, onUp, onDown } = props;
  const { op } = step;
  return (
    <fieldset class={faults.length > 0 ? "change wrong" : "change"}>
      <legend class="hidden">{t("shape.steps.nth", { nth })}</legend>
      <div class="change-head">
        {op === "json" ? (
          <p class="muted small">{t("shape.steps.kept")}</p>
        ) : (
          <OperationSelect value={op} onChange={(chosen) => onPut(turnInto(step, chosen))} />
        )}
        <span class="actions">
          <Mover icon="up" nth={nth} onClick={onUp} />
          <Mover icon="down" nth={nth} onClick={onDown} />
          <Button kind="quiet" icon="cross" label={t("shape.steps.drop", { nth })} onClick={onDrop}>
            {t("shape.rows.drop")}
          </Button>
        </span>
      </div>
      {op === "json" ? (
        <Code text={JSON.stringify(step.kept, null, 2)} label={t("shape.mode.json")} json />
      ) : isList(op) ? (
        <Paths step={step} datalist={datalist} onPut={onPut} />
      ) : (
        <Slots step={step} op={op} datalist={datalist} onPut={onPut} />
      )}
      <Faults faults={faults} />
    </fieldset>
  );
}

interface MoverProps {
  icon: "up" | "down";
  nth: number;
  onClick: (() => void) | null;
}

/** At the end it stays, so that the keyboard does not lose its place. */
function Mover({ icon, nth, onClick }: MoverProps): JSX.Element {
  const text = t(`shape.steps.${icon}`, { nth });
  return (
    <button
      type="button"
      class="button quiet mover"
      aria-label={text}
      title={text}
      aria-disabled={onClick === null}
      onClick={() => onClick?.()}
    >
      <Icon name={icon} />
    </button>
  );
}

interface OperationSelectProps {
  value: Operation;
  onChange: (op: Operation) => void;
}

function OperationSelect({ value, onChange }: OperationSelectProps): JSX.Element {
  return (
    <select
      aria-label={t("shape.steps.operation")}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value as Operation)}
    >
      {OPERATIONS.map((op) => (
        <option key={op} value={op}>
          {t(`shape.step.${op}`)}
        </option>
      ))}
    </select>
  );
}

type FieldsProps = Pick<StepCardProps, "step" | "datalist" | "onPut">;

/** The paths of `pick` and `omit`: there is always an empty one to type into. */
function Paths({ step, datalist, onPut }: FieldsProps): JSX.Element {
  const paths = step.fields.at(-1) === "" ? step.fields : [...step.fields, ""];
  const put = (at: number, text: string) => onPut({ ...step, fields: paths.with(at, text) });
  return (
    <div class="change-paths">
      {paths.map((path, at) => (
        <PathInput
          key={at}
          label={t("shape.rows.field")}
          value={path}
          datalist={datalist}
          placeholder={at === 0 ? "data.id" : t("shape.steps.another")}
          onInput={(text) => put(at, text)}
        />
      ))}
    </div>
  );
}

function Slots({ step, op, datalist, onPut }: FieldsProps & { op: keyof typeof SLOTS }): JSX.Element {
  const texts = SLOTS[op].map((_name, at) => step.fields[at] ?? "");
  return (
    <div class="change-slots">
      {SLOTS[op].map((name, at) => (
        <label key={name}>
          <span>{t(`shape.slot.${name}`)}</span>
          <PathInput
            value={texts[at] ?? ""}
            datalist={name === "value" || name === "key" ? null : datalist}
            placeholder={EXAMPLES[name]}
            onInput={(text) => onPut({ ...step, fields: texts.with(at, text) })}
          />
        </label>
      ))}
    </div>
  );
}

const EXAMPLES = { from: "data.id", to: "data.invoice", path: "data", value: "2", key: "event" } as const;

interface PathInputProps {
  /** Where no label stands beside it. */
  label?: string;
  value: string;
  datalist: string | null;
  placeholder: string;
  onInput: (text: string) => void;
}

function PathInput({ label, value, datalist, placeholder, onInput }: PathInputProps): JSX.Element {
  return (
    <input
      class="mono"
      list={datalist ?? undefined}
      aria-label={label}
      placeholder={placeholder}
      autocomplete="off"
      spellcheck={false}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}
