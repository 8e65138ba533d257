import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { number } from "../display/format.ts";
import { type Key, t } from "../i18n.ts";
import { Button } from "./button.tsx";

/**
 * Bars of some parts, each a button that narrows the list below; drawn over, or with Shift and the arrows,
 * several do. The same numbers as a table on demand.
 */
export type Bar<Part extends string> = { at: number } & Readonly<Record<Part, number>>;

/** What the bars consist of, from the axis upwards, and how it is called. */
export interface Series<Part extends string> {
  parts: readonly { name: Part; title: Key /** The class that colours it. */; look: string }[];
  /** The whole, for screen readers. */
  label: Key;
  /** One bar in a sentence, with `{time}` and each part by its name. */
  bar: Key;
}

interface ChartProps<Part extends string> {
  series: Series<Part>;
  bars: readonly Bar<Part>[];
  /** Further columns of the table, by the bar's place. */
  columns?: readonly { title: string; of: (index: number) => string }[];
  /** How a bar's time is written in words. */
  tell: (at: number) => string;
  /** What stands below a bar that is the n-th; nothing below most of them. */
  tick: (at: number, nth: number) => string | null;
  /** The first and the last bar that narrow the list. */
  chosen: Range | null;
  onChoose: (range: Range | null) => void;
  /** Half as high, where the list is what one came for. */
  isLow?: boolean;
  /** What it counts, where that is not plain. */
  note?: string | null;
}

export type Range = readonly [number, number];

const HEIGHT = 120;
const LOW_HEIGHT = 56;
/** What is not nothing is seen. */
const LEAST = 2;
/** So many bars a mark is wide where they are narrowest. */
const MARK_BARS = 4;

export function Chart<Part extends string>(props: ChartProps<Part>): JSX.Element {
  const [isTable, setTable] = useState(false);
  return (
    <figure class={props.isLow ? "chart low" : "chart"}>
      <figcaption>
        <ul class="legend">
          {props.series.parts.map(({ name, title, look }) => (
            <li key={name} class={look}>
              {t(title)}
            </li>
          ))}
        </ul>
        {props.note && <span class="muted">{props.note}</span>}
        <Button kind="quiet" pressed={isTable} onClick={() => setTable(!isTable)}>
          {t("chart.table")}
        </Button>
      </figcaption>
      {isTable ? <Numbers {...props} /> : <Bars {...props} />}
    </figure>
  );
}

function Bars<Part extends string>(props: ChartProps<Part>): JSX.Element {
  const { series, bars, tell, tick, chosen, onChoose, isLow = false } = props;
  const highest = Math.max(1, ...bars.map((bar) => sumOf(series, bar)));
  const [focused, setFocused] = useState(bars.length - 1);
  const row = useRef<HTMLDivElement>(null);
  const timeOf = (at: number) => bars[at]?.at ?? 0;
  const brush = useBrush(row, (from, to) => onChoose([timeOf(from), timeOf(to)]));
  const walk = useWalk(row, bars.length, focused, setFocused, (from, to) =>
    onChoose([timeOf(from), timeOf(to)]),
  );
  const isIn = (at: number) =>
    brush.range
      ? at >= brush.range[0] && at <= brush.range[1]
      : chosen !== null && timeOf(at) >= chosen[0] && timeOf(at) <= chosen[1];
  return (
    <div class="plot">
      <span class="plot-max" aria-hidden="true">
        {number(highest)}
      </span>
      <div
        class="bars"
        role="group"
        aria-label={t(series.label)}
        ref={row}
        onKeyDown={walk}
        onPointerDown={brush.begin}
      >
        {bars.map((bar, at) => (
          <BarButton
            key={bar.at}
            series={series}
            bar={bar}
            scale={(isLow ? LOW_HEIGHT : HEIGHT) / highest}
            label={tell(bar.at)}
            isChosen={isIn(at)}
            isStop={at === Math.min(focused, bars.length - 1)}
            onFocus={() => setFocused(at)}
            onClick={() => onChoose(isOnly(chosen, bar.at) ? null : [bar.at, bar.at])}
          />
        ))}
      </div>
      <Ticks bars={bars} tick={tick} />
    </div>
  );
}

/** Every other mark, counted from the last, gives way where there is no room. */
function Ticks({
  bars,
  tick,
}: {
  bars: readonly { at: number }[];
  tick: ChartProps<never>["tick"];
}): JSX.Element {
  const texts = bars.map(({ at }, nth) => tick(at, nth));
  const marked = texts.flatMap((text, nth) => (text === null ? [] : [nth])).toReversed();
  const lookOf = (nth: number) =>
    [marked.indexOf(nth) % 2 === 1 && "minor", nth > bars.length - MARK_BARS && "late"]
      .filter(Boolean)
      .join(" ");
  return (
    <div class="ticks" aria-hidden="true">
      {bars.map(({ at }, nth) => (
        <span key={at} class={lookOf(nth)}>
          {texts[nth]}
        </span>
      ))}
    </div>
  );
}

function sumOf<Part extends string>({ parts }: Series<Part>, bar: Bar<Part>): number {
  return parts.reduce((sum, { name }) => sum + bar[name], 0);
}

function isOnly(chosen: Range | null, at: number): boolean {
  return chosen?.[0] === at && chosen[1] === at;
}

/**
 * One stop for Tab, arrows between the children of a row, and with Shift a range from where it was
 * pressed first.
 */
function useWalk(
  row: { current: HTMLElement | null },
  count: number,
  focused: number,
  setFocused: (at: number) => void,
  onDraw: (from: number, to: number) => void,
) {
  const anchor = useRef<number | null>(null);
  return (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const forward = document.documentElement.dir === "rtl" ? -step : step;
    const next = Math.min(count - 1, Math.max(0, focused + forward));
    setFocused(next);
    (row.current?.children[next] as HTMLElement | undefined)?.focus();
    const first = event.shiftKey ? (anchor.current ?? focused) : null;
    anchor.current = first;
    if (first !== null) onDraw(Math.min(first, next), Math.max(first, next));
  };
}

/**
 * Draws a range over the children of a row by mouse or pen; a finger scrolls instead. Over one child alone it
 * is a click.
 */
function useBrush(row: { current: HTMLElement | null }, onDone: (from: number, to: number) => void) {
  const [range, setRange] = useState<Range | null>(null);
  const stop = useRef<(() => void) | null>(null);
  useEffect(() => () => stop.current?.(), []);
  const indexAt = (x: number) => {
    const children = [...(row.current?.children ?? [])].map((child) => child.getBoundingClientRect());
    const distances = children.map(({ left, right }) => Math.max(left - x, x - right, 0));
    return distances.indexOf(Math.min(...distances));
  };
  const begin = (down: PointerEvent) => {
    if (down.button !== 0 || down.pointerType === "touch") return;
    const first = indexAt(down.clientX);
    const rangeTo = (x: number): Range => {
      const now = indexAt(x);
      return [Math.min(first, now), Math.max(first, now)];
    };
    const move = ({ clientX }: PointerEvent) => setRange(rangeTo(clientX));
    const end = ({ clientX }: PointerEvent) => {
      stop.current?.();
      const [from, to] = rangeTo(clientX);
      if (from !== to) onDone(from, to);
    };
    stop.current = () => {
      setRange(null);
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
  };
  return { range, begin };
}

interface BarButtonProps<Part extends string> {
  series: Series<Part>;
  bar: Bar<Part>;
  /** Pixels for one. */
  scale: number;
  /** Its time in words. */
  label: string;
  isChosen: boolean;
  /** Tab stops at it. */
  isStop: boolean;
  onFocus: () => void;
  onClick: () => void;
}

function BarButton<Part extends string>(props: BarButtonProps<Part>): JSX.Element {
  const { series, bar, scale, label, isChosen, isStop, onFocus, onClick } = props;
  const { parts } = series;
  return (
    <button
      type="button"
      class="bar"
      tabIndex={isStop ? 0 : -1}
      aria-pressed={isChosen}
      aria-label={t(series.bar, { time: label, ...bar })}
      title={[label, ...parts.map(({ name, title }) => `${t(title)}: ${number(bar[name])}`)].join("\n")}
      onFocus={onFocus}
      onClick={onClick}
    >
      {parts.map(({ name, look }) => (
        <span key={name} class={look} style={{ height: `${heightOf(bar[name], scale)}px` }} />
      ))}
    </button>
  );
}

function heightOf(count: number, scale: number): number {
  return count === 0 ? 0 : Math.max(LEAST, count * scale);
}

function Numbers<Part extends string>(props: ChartProps<Part>): JSX.Element {
  const { series, bars, tell, columns = [] } = props;
  const all = [
    ...series.parts.map(({ name, title }) => ({
      title: t(title),
      of: (index: number) => number(bars[index]?.[name] ?? 0),
    })),
    ...columns,
  ];
  const filled = [...bars.entries()].filter(([, bar]) => sumOf(series, bar) > 0);
  return (
    <div class="table-frame scrolls" tabIndex={0} role="region" aria-label={t(series.label)}>
      <table class="table plain">
        <thead>
          <tr>
            <th scope="col">{t("chart.time")}</th>
            {all.map(({ title }) => (
              <th key={title} scope="col" class="end">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {filled.map(([index, bar]) => (
            <tr key={bar.at}>
              <th scope="row">{tell(bar.at)}</th>
              {all.map(({ title, of }) => (
                <td key={title} class="end">
                  {of(index)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
