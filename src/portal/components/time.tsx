import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { exact, relative, remaining } from "../display/format.ts";
import { t } from "../i18n.ts";

/** Moves on by itself, while somebody looks. */
export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1000);

/** "2 min ago"; the exact time and zone on hover and on focus. */
export function Time({ at }: { at: string }): JSX.Element {
  const ms = Date.parse(at);
  // In whole steps, so that a list is not drawn anew each second.
  const text = relative(ms, now.value);
  return (
    <time class="time" dateTime={at} title={exact(ms)} data-tip={exact(ms)}>
      {text}
    </time>
  );
}

/** Counts down to a moment, such as the next attempt. */
export function Countdown({ until }: { until: string }): JSX.Element {
  const left = Date.parse(until) - now.value;
  return (
    <time class="time" dateTime={until} title={exact(Date.parse(until))}>
      {left <= 0 ? t("time.now") : t("time.in", { time: remaining(left) })}
    </time>
  );
}
