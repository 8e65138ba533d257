import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { Body } from "../../components/code.tsx";
import { SelectField } from "../../components/field.tsx";
import { Section } from "../../components/layout.tsx";
import { messageOf } from "../../components/states.tsx";
import { toast } from "../../components/toast.tsx";
import { explain } from "../../display/explain.ts";
import { duration } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { refresh } from "../../resource.ts";
import { to } from "../../router.ts";
import type { Attempt, Delivery, Endpoint } from "../../types.ts";
import { optionsOf } from "../parts/endpoint-name.ts";

interface TrySendProps {
  name: string;
  endpoints: Endpoint[];
  hasExample: boolean;
}

/** The attempt, or where an endpoint fetches for itself the delivery that now waits. */
type Answer = Attempt | Delivery;

/** Sends the example to an endpoint of one's own, and shows what it answered. */
export function TrySend({ name, endpoints, hasExample }: TrySendProps): JSX.Element {
  const open = endpoints.filter(({ status }) => status !== "disabled");
  const [id, setId] = useState(open[0]?.id ?? "");
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setAnswer(null);
    try {
      setAnswer(await send<Answer>("POST", `/v1/endpoints/${id}/test`, { type: name }));
      refresh();
    } catch (error) {
      toast(messageOf(error), "bad");
    } finally {
      setBusy(false);
    }
  };
  if (open.length === 0) return <></>;
  return (
    <Section title={t("catalogue.try")}>
      <form class="try" onSubmit={(event) => void run(event)}>
        <SelectField
          label={t("catalogue.try.to")}
          help={hasExample ? undefined : t("catalogue.try.empty")}
          value={id}
          onChange={setId}
          options={optionsOf(open)}
        />
        <Button kind="primary" type="submit" icon="play" busy={isBusy}>
          {t("catalogue.try.send")}
        </Button>
      </form>
      <div aria-live="polite">{answer && <Result answer={answer} />}</div>
    </Section>
  );
}

function Result({ answer }: { answer: Answer }): JSX.Element {
  const isWaiting = !("outcome" in answer);
  const isGood = isWaiting || answer.outcome === "delivered";
  const deliveryId = isWaiting ? answer.id : answer.delivery_id;
  return (
    <div class="result">
      <div class={isGood ? "notice good" : "notice bad"}>
        <p>{isWaiting ? t("catalogue.try.waits") : <Words attempt={answer} />}</p>
        <p>
          <a href={to(`/deliveries/${deliveryId}`)}>{t("endpoint.trouble.see")}</a>
        </p>
      </div>
      {!isWaiting && answer.response_body ? (
        <Body text={answer.response_body} label={t("catalogue.try.answer")} />
      ) : null}
    </div>
  );
}

function Words({ attempt }: { attempt: Attempt }): JSX.Element {
  if (attempt.outcome === "delivered") {
    const status = String(attempt.status_code ?? "");
    return <strong>{t("catalogue.try.good", { status, time: duration(attempt.duration_ms) })}</strong>;
  }
  const { what, next } = explain(attempt);
  return (
    <>
      <strong>{what}</strong> {next}
    </>
  );
}
