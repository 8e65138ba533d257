import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n.ts";
import { Button } from "./button.tsx";

/** A modal window: the browser keeps the focus in it, closes it with Esc, and gives the focus back. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === ref.current && onClose()}
    >
      <div class="dialog-body">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface Question {
  title: string;
  body: ComponentChildren;
  /** A verb: "Delete endpoint", never "OK". */
  action: string;
  danger?: boolean;
}

const asked = signal<(Question & { answer: (yes: boolean) => void }) | null>(null);

/** Asks before what cannot be taken back: `if (await confirm({…})) …`. */
export function confirm(question: Question): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (yes: boolean) => {
      asked.value = null;
      resolve(yes);
    };
    asked.value = { ...question, answer };
  });
}

/** Shows what `confirm` asks; stands once in the page. */
export function Questions(): JSX.Element | null {
  const question = asked.value;
  if (question === null) return null;
  return (
    <Dialog title={question.title} onClose={() => question.answer(false)}>
      <div class="dialog-text">{question.body}</div>
      <div class="actions">
        <Button onClick={() => question.answer(false)}>{t("cancel")}</Button>
        <Button kind={question.danger ? "danger" : "primary"} onClick={() => question.answer(true)}>
          {question.action}
        </Button>
      </div>
    </Dialog>
  );
}
