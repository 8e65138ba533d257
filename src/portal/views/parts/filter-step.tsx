import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Fault, send } from "../../api.ts";
import { TextField } from "../../components/field.tsx";
import { messageOf } from "../../components/states.tsx";
import { parseExact } from "../../json/exact-json.ts";
import { t } from "../../i18n.ts";
import { FilterWarnings } from "./filter-warnings.tsx";

interface FilterStepProps {
  /** JSON as it was typed; empty: no filter. */
  value: string;
  onChange: (value: string) => void;
  error: string | null;
}

/** Tried a moment after the last key. */
const WAIT_MS = 400;
const TRIED = 100;

/** The filter in the text; `isWrong` where it is no JSON object. */
export function readFilter(text: string): { value: unknown; isWrong: boolean } {
  if (text.trim() === "") return { value: null, isWrong: false };
  try {
    const value = parseExact(text);
    return { value, isWrong: typeof value !== "object" || value === null };
  } catch {
    return { value: null, isWrong: true };
  }
}

/** A filter for those who want one, tried on what was published lately. */
export function FilterStep({ value, onChange, error }: FilterStepProps): JSX.Element {
  const { value: filter, isWrong } = readFilter(value);
  const { words, warnings } = useTried(isWrong ? null : filter);
  return (
    <>
      <p class="muted">{t("filter.step.text")}</p>
      <TextField
        label={t("endpoint.filter")}
        optional={t("form.optional")}
        help={t("filter.step.help")}
        value={value}
        onInput={onChange}
        error={isWrong ? t("filter.step.nojson") : error}
        placeholder={'{ "data": { "total": { "$gte": 100 } } }'}
        rows={8}
        mono
      />
      <p aria-live="polite" class="muted">
        {words}
      </p>
      <FilterWarnings warnings={warnings} />
    </>
  );
}

/** How many of the last events it would let through, in words, and what is hardly meant in it. */
interface Tried {
  words: string;
  warnings: readonly Fault[];
}

const NOTHING: Tried = { words: "", warnings: [] };

function useTried(filter: unknown): Tried {
  const [said, setSaid] = useState(NOTHING);
  const text = JSON.stringify(filter);
  useEffect(() => {
    setSaid(NOTHING);
    if (text === "null") return undefined;
    let isOver = false;
    const say = async () => {
      const found = await tried(text);
      if (!isOver) setSaid(found);
    };
    const timer = setTimeout(() => void say(), WAIT_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text]);
  return said;
}

type Answer = { tried: number; matched: number; warnings?: Fault[] };

async function tried(filter: string): Promise<Tried> {
  try {
    const body = { last: TRIED, filter: JSON.parse(filter) as unknown };
    const {
      tried: count,
      matched,
      warnings = [],
    } = await send<Answer>("POST", "/v1/endpoints/preview", body);
    if (count === 0) return { words: t("filter.step.none"), warnings };
    return { words: t("filter.step.tried", { matched, count }), warnings };
  } catch (error) {
    return { words: messageOf(error), warnings: [] };
  }
}
