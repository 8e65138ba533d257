import type { JSX } from "preact";
import { t } from "../i18n.ts";
import { Icon } from "./icons.tsx";
import { toast } from "./toast.tsx";

const HEAD = 8;
const TAIL = 4;

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("copy.done", { what }));
  } catch {
    toast(t("copy.failed"), "bad");
  }
}

export function shorten(id: string): string {
  return id.length <= HEAD + TAIL + 1 ? id : `${id.slice(0, HEAD)}…${id.slice(-TAIL)}`;
}

/** Shortened in the middle, whole in the tooltip, copied by a click. */
export function Id({ id }: { id: string }): JSX.Element {
  return (
    <button
      type="button"
      class="id"
      title={id}
      onClick={(event) => {
        event.preventDefault();
        event.stopPropagation();
        void copy(id, t("copy.what.id"));
      }}
    >
      <span class="hidden">{t("copy")} </span>
      <code>{shorten(id)}</code>
      <Icon name="copy" />
    </button>
  );
}

export function CopyButton({ text, what }: { text: string; what: string }): JSX.Element {
  return (
    <button type="button" class="button quiet" onClick={() => void copy(text, what)}>
      <Icon name="copy" />
      <span>{t("copy")}</span>
    </button>
  );
}
