import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Icon } from "../../components/icons.tsx";
import { Countdown } from "../../components/time.tsx";
import { exact, iso, moment, roughly } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { type Placed, place, type Step } from "./steps.ts";
import { lookOfStep, sentenceOf } from "./words.ts";

/** Of a line of length 1. */
const UNIT_PX = 28;
const HALF_DAY_MS = 43_200_000;
const SHORT_MS = 600_000;
/** A point with its words. */
const POINT_PX = 64;

/** A delivery from left to right; the picture is the list, so that who cannot see it hears the same. */
export function Timeline({ steps }: { steps: readonly Step[] }): JSX.Element {
  const placed = useMemo(() => place(steps), [steps]);
  const frame = useRef<HTMLDivElement>(null);
  // What is newest is seen, also where it is too long.
  useEffect(() => {
    if (frame.current) frame.current.scrollLeft = frame.current.scrollWidth;
  }, [steps.length]);
  const exactness = exactnessOf(steps);
  return (
    <div class="timeline" ref={frame} tabIndex={0} role="group" aria-label={t("timeline.title")}>
      <ol>
        {placed.map((one, at) => (
          <Point key={at} placed={one} isFirst={at === 0} exactness={exactness} />
        ))}
      </ol>
    </div>
  );
}

type Exactness = Parameters<typeof moment>[1];

/** Seconds where it all happened within minutes, the day where it did not happen, or will not end, today. */
function exactnessOf(steps: readonly Step[]): Exactness {
  const times = steps.map(({ at }) => at);
  if (times.some((at) => Math.abs(at - Date.now()) > HALF_DAY_MS)) return "day";
  const past = times.filter((at) => at <= Date.now());
  return Math.max(...past) - Math.min(...past) < SHORT_MS ? "second" : "minute";
}

function Point({
  placed: { step, gap, length, isBreak },
  isFirst,
  exactness,
}: {
  placed: Placed;
  isFirst: boolean;
  exactness: Exactness;
}): JSX.Element {
  const { tone, icon, text } = lookOfStep(step);
  const isAhead = step.kind === "next" || step.kind === "end";
  const kind = `${isBreak ? "cut " : ""}${isAhead ? "ahead" : ""}`;
  return (
    <li
      class={isAhead ? "ahead" : undefined}
      style={isFirst ? {} : { flexGrow: length, flexBasis: `${POINT_PX + length * UNIT_PX}px` }}
    >
      <span class="hidden">
        {sentenceOf(step, gap)} {exact(step.at)}
      </span>
      <span class="line-row" aria-hidden="true">
        {!isFirst && (
          <span class={`stretch ${kind}`}>{gap !== null && gap >= 1000 && <span>{roughly(gap)}</span>}</span>
        )}
        <span class={`point ${tone}`} title={exact(step.at)}>
          <Icon name={icon} />
        </span>
      </span>
      <span class="point-words" aria-hidden="true">
        <strong>{text}</strong>
        <span class="muted">
          {step.kind === "next" && !step.isWaiting ? (
            <Countdown until={iso(step.at)} />
          ) : (
            <>
              {step.kind === "end" && "≈ "}
              {moment(step.at, isAhead && exactness === "second" ? "minute" : exactness)}
            </>
          )}
        </span>
      </span>
    </li>
  );
}
