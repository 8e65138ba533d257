import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { Icon } from "./icons.tsx";

interface Toast {
  id: number;
  text: string;
  tone: "good" | "bad";
}

const SHOWN_MS = 6000;
const toasts = signal<Toast[]>([]);
let last = 0;

/** Says what came of an action, to the eye and to a screen reader, and goes by itself. */
export function toast(text: string, tone: Toast["tone"] = "good"): void {
  const id = ++last;
  toasts.value = [...toasts.value, { id, text, tone }];
  setTimeout(() => (toasts.value = toasts.value.filter((one) => one.id !== id)), SHOWN_MS);
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone }) => (
        <p key={id} class={`toast ${tone}`}>
          <Icon name={tone === "good" ? "check" : "alert"} />
          {text}
        </p>
      ))}
    </div>
  );
}
