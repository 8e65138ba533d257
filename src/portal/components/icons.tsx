import type { JSX } from "preact";

/** Drawn on 16 × 16 with a line of 1.5; always beside a word, so they are hidden from screen readers. */
const PATHS = {
  check: "M3.5 8.5l3 3 6-7",
  cross: "M4 4l8 8M12 4l-8 8",
  retry: "M13 8a5 5 0 1 1-1.5-3.5M13 2.5v3h-3",
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2 1.3",
  pause: "M6 4v8M10 4v8",
  stop: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6",
  alert: "M8 2.5l6 10.5H2zM8 6.5v3M8 11.2v.1",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  back: "M10 3.5L5.5 8l4.5 4.5",
  next: "M6 3.5L10.5 8 6 12.5",
  up: "M3.5 10L8 5.5 12.5 10",
  down: "M3.5 6L8 10.5 12.5 6",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3 3",
  plus: "M8 3.5v9M3.5 8h9",
  open: "M6 3H3v10h10v-3M9 3h4v4M13 3L7.5 8.5",
  key: "M10 2.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM7.5 8.5L3 13v.5h2.5V12H7v-1.5h1.5",
  filter: "M2.5 3.5h11L9.5 8.5v4l-3 1v-5z",
  play: "M5 3.5l7.5 4.5L5 12.5z",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  dot: "M8 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z",
  info: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 7.2v3.6M8 5.2v.1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg
      class={`icon icon-${name}`}
      viewBox="0 0 16 16"
      width="16"
      height="16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
