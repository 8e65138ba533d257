import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { number } from "../format.ts";
import { type Key, t } from "../i18n.ts";
import { Button } from "./button.tsx";

/** Bars of delivered, failed and dead, each a button that narrows the list below; the same numbers as a table on demand. */
export interface Bar {
  at: number;
  delivered: number;
  failed: number;
  dead: number;
}

interface ChartProps {
  bars: readonly Bar[];
  /** How a bar's time is written, in words and below the axis. */
  tell: (at: number) => string;
  tick: (at: number) => string;
  /** The bar that narrows the list. */
  chosen: number | null;
  onChoose: (at: number | null) => void;
}

const PARTS = ["delivered", "failed", "dead"] as const;
const NAMES: Readonly<Record<(typeof PARTS)[number], Key>> = {
  delivered: "chart.delivered",
  failed: "chart.failed",
  dead: "chart.dead",
};
const TICKS = 6;
const HEIGHT = 120;
/** What is not nothing is seen. */
const LEAST = 2;

export function Chart(props: ChartProps): JSX.Element {
  const [isTable, setTable] = useState(false);
  return (
    <figure class="chart">
      <figcaption>
        <ul class="legend">
          {PARTS.map((part) => (
            <li key={part} class={part}>
              {t(NAMES[part])}
            </li>
          ))}
        </ul>
        <Button kind="quiet" pressed={isTable} onClick={() => setTable(!isTable)}>
          {t("chart.table")}
        </Button>
      </figcaption>
      {isTable ? <Numbers {...props} /> : <Bars {...props} />}
    </figure>
  );
}

function Bars({ bars, tell, tick, chosen, onChoose }: ChartProps): JSX.Element {
  const highest = Math.max(1, ...bars.map((bar) => bar.delivered + bar.failed + bar.dead));
  const every = Math.max(1, Math.ceil(bars.length / TICKS));
  const [focused, setFocused] = useState(bars.length - 1);
  const row = useRef<HTMLDivElement>(null);
  // One stop for Tab, arrows between the bars.
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const forward = document.documentElement.dir === "rtl" ? -step : step;
    const next = Math.min(bars.length - 1, Math.max(0, focused + forward));
    setFocused(next);
    (row.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class="plot">
      <span class="plot-max" aria-hidden="true">
        {number(highest)}
      </span>
      <div class="bars" role="group" aria-label={t("chart.label")} ref={row} onKeyDown={move}>
        {bars.map((bar, at) => (
          <BarButton
            key={bar.at}
            bar={bar}
            highest={highest}
            label={tell(bar.at)}
            isChosen={chosen === bar.at}
            isStop={at === Math.min(focused, bars.length - 1)}
            onFocus={() => setFocused(at)}
            onClick={() => onChoose(chosen === bar.at ? null : bar.at)}
          />
        ))}
      </div>
      <div class="ticks" aria-hidden="true">
        {bars.map((bar, at) => (
          <span key={bar.at}>{at % every === 0 && tick(bar.at)}</span>
        ))}
      </div>
    </div>
  );
}

interface BarButtonProps {
  bar: Bar;
  highest: number;
  /** Its time in words. */
  label: string;
  isChosen: boolean;
  /** Tab stops at it. */
  isStop: boolean;
  onFocus: () => void;
  onClick: () => void;
}

function BarButton({ bar, highest, label, isChosen, isStop, onFocus, onClick }: BarButtonProps): JSX.Element {
  const { delivered, failed, dead } = bar;
  return (
    <button
      type="button"
      class="bar"
      tabIndex={isStop ? 0 : -1}
      aria-pressed={isChosen}
      aria-label={t("chart.bar", { time: label, delivered, failed, dead })}
      title={[label, ...PARTS.map((part) => `${t(NAMES[part])}: ${number(bar[part])}`)].join("\n")}
      onFocus={onFocus}
      onClick={onClick}
    >
      {PARTS.map((part) => (
        <span key={part} class={part} style={{ height: `${heightOf(bar[part], highest)}px` }} />
      ))}
    </button>
  );
}

function heightOf(count: number, highest: number): number {
  return count === 0 ? 0 : Math.max(LEAST, (count / highest) * HEIGHT);
}

function Numbers({ bars, tell }: ChartProps): JSX.Element {
  const filled = bars.filter((bar) => PARTS.some((part) => bar[part] > 0));
  return (
    <div class="table-frame scrolls" tabIndex={0} role="region" aria-label={t("chart.label")}>
      <table class="table plain">
        <thead>
          <tr>
            <th scope="col">{t("chart.time")}</th>
            {PARTS.map((part) => (
              <th key={part} scope="col" class="end">
                {t(NAMES[part])}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {filled.map((bar) => (
            <tr key={bar.at}>
              <th scope="row">{tell(bar.at)}</th>
              {PARTS.map((part) => (
                <td key={part} class="end">
                  {number(bar[part])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
