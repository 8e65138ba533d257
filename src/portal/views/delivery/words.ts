import type { Tone } from "../../components/badge.tsx";
import type { IconName } from "../../components/icons.tsx";
import { number, roughly } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import type { Attempt, Outcome } from "../../types.ts";
import type { Step } from "./steps.ts";

/** How steps and outcomes look, and what they are called. */
export interface Look {
  tone: Tone;
  icon: IconName;
  text: string;
}

const OUTCOMES: Readonly<Record<Outcome, { tone: Tone; icon: IconName }>> = {
  delivered: { tone: "good", icon: "check" },
  rejected: { tone: "bad", icon: "cross" },
  timeout: { tone: "bad", icon: "clock" },
  unreachable: { tone: "bad", icon: "cross" },
  blocked: { tone: "bad", icon: "stop" },
  malformed: { tone: "bad", icon: "alert" },
  handed_out: { tone: "wait", icon: "clock" },
};

/** With the status that was answered, where there is one. */
export function lookOf({ outcome, status_code: code }: Attempt): Look {
  const said = t(`outcome.${outcome}`);
  return { ...OUTCOMES[outcome], text: code === null ? said : `${code} ${said}` };
}

/** Short, below its point. */
export function lookOfStep(step: Step): Look {
  switch (step.kind) {
    case "accepted":
      return { tone: "idle", icon: "dot", text: t("timeline.accepted") };
    case "attempt": {
      const { attempt } = step;
      const text =
        attempt.status_code === null ? t(`outcome.${attempt.outcome}`) : String(attempt.status_code);
      return { ...OUTCOMES[attempt.outcome], text };
    }
    case "delivered":
      return { ...OUTCOMES.delivered, text: t("status.delivered") };
    case "dead":
      return { tone: "bad", icon: "stop", text: t("status.dead") };
    case "cancelled":
      return { tone: "idle", icon: "stop", text: t("status.cancelled") };
    case "next":
      return { tone: "warn", icon: "clock", text: t("timeline.next") };
    default:
      return { tone: "idle", icon: "stop", text: t("timeline.end") };
  }
}

/** The whole of it, for who cannot see the picture. */
export function sentenceOf(step: Step, gap: number | null): string {
  const since = gap === null || gap < 1000 ? "" : t("timeline.after", { time: roughly(gap) });
  return [saidOf(step), since].join(" ");
}

function saidOf(step: Step): string {
  switch (step.kind) {
    case "accepted":
      return t("timeline.accepted.long");
    case "attempt":
      return [attemptTitle(step.attempt), `${lookOf(step.attempt).text}.`].join(": ");
    case "delivered":
      return t("status.delivered");
    case "dead":
      return t("timeline.dead");
    case "cancelled":
      return t("status.cancelled");
    case "next":
      return t("timeline.next.long");
    default:
      return step.more === 0 ? t("timeline.last.long") : t("timeline.end.long", { count: step.more });
  }
}

export function attemptTitle({ number: nth }: Attempt): string {
  return t("timeline.attempt", { number: number(nth) });
}
