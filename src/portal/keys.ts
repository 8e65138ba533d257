import { signal } from "@preact/signals";

/**
 * The keyboard: `/` searches, `j` and `k` walk through a list, `Enter` opens, `Esc` closes, `?` tells
 * of these.
 */
export const isHelpOpen = signal(false);

const closers: (() => void)[] = [];

/** Called by Esc, the newest first; gives back how to take it away. */
export function onEscape(close: () => void): () => void {
  closers.push(close);
  return () => {
    const at = closers.lastIndexOf(close);
    if (at >= 0) closers.splice(at, 1);
  };
}

const ROWS = "[data-row]";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

function walk(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)];
  const at = rows.findIndex((row) => row === document.activeElement);
  const chosen = rows.findIndex((row) => row.ariaCurrent === "true");
  const from = at >= 0 ? at : chosen;
  const next = from < 0 ? (step === 1 ? 0 : rows.length - 1) : from + step;
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}

const ACTIONS: Readonly<Record<string, () => void>> = {
  "/": () => document.querySelector<HTMLElement>("[data-search]")?.focus(),
  j: () => walk(1),
  k: () => walk(-1),
  "?": () => void (isHelpOpen.value = true),
};

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      if (!isTyping(event.target)) return closers.at(-1)?.();
      // Browsers would empty a search too, whose results are what one wants to walk through now.
      event.preventDefault();
      (event.target as HTMLElement).blur();
      return;
    }
    const action = isTyping(event.target) ? undefined : ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
