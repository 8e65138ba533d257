import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../../components/icons.tsx";
import { t } from "../../i18n.ts";

interface ProgressProps {
  /** Their names, in order. */
  steps: readonly string[];
  at: number;
  /** Back to a step that is past; steps before `from` are done for good. */
  onGo: (step: number) => void;
  from?: number;
}

/** Where one is in a wizard, and the way back. */
export function Progress({ steps, at, onGo, from = 0 }: ProgressProps): JSX.Element {
  return (
    <ol class="progress" aria-label={t("wizard.progress")}>
      {steps.map((step, index) => (
        <li
          key={step}
          aria-current={index === at ? "step" : undefined}
          class={index < at ? "past" : undefined}
        >
          {index < at && index >= from ? (
            <button type="button" onClick={() => onGo(index)}>
              <Icon name="check" />
              {step}
            </button>
          ) : (
            <span>
              {index < at ? <Icon name="check" /> : <span class="step-number">{index + 1}</span>}
              {step}
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

/** A new step begins at its heading, also for who does not see it. */
export function StepTitle({ title }: { title: string }): JSX.Element {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => ref.current?.focus(), [title]);
  return (
    <h2 ref={ref} tabIndex={-1}>
      {title}
    </h2>
  );
}
