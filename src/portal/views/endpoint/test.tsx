import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { Body, Json } from "../../components/code.tsx";
import { SelectField } from "../../components/field.tsx";
import { Facts, Section } from "../../components/layout.tsx";
import { messageOf } from "../../components/states.tsx";
import { toast } from "../../components/toast.tsx";
import { explain } from "../../display/explain.ts";
import { duration } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { refresh, useResource } from "../../resource.ts";
import { to } from "../../router.ts";
import type { Attempt, Endpoint, EventType, Page } from "../../types.ts";

/** What is sent where no type is chosen. */
const USUAL_TYPE = "test.event";

/** One event, sent now, and what came back. */
export function EndpointTest({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  return (
    <Section title={t("test.title")}>
      <p class="muted">{t("test.text")}</p>
      <TestForm endpoint={endpoint} />
    </Section>
  );
}

/** Also the last step of the wizard. */
export function TestForm({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const { data } = useResource<Page<EventType>>("/v1/event-types?limit=250", { polls: false });
  const [type, setType] = useState(USUAL_TYPE);
  const [attempt, setAttempt] = useState<Attempt | null>(null);
  const [isBusy, setBusy] = useState(false);
  const described = data?.data.filter(({ archived }) => !archived) ?? [];
  const example = described.find(({ name }) => name === type)?.example;
  const run = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setAttempt(null);
    try {
      setAttempt(await send<Attempt>("POST", `/v1/endpoints/${endpoint.id}/test`, { type }));
      refresh();
    } catch (error) {
      toast(messageOf(error), "bad");
    }
    setBusy(false);
  };
  const isDisabled = endpoint.status === "disabled";
  return (
    <>
      <form onSubmit={(event) => void run(event)}>
        <SelectField
          label={t("test.type")}
          help={example ? undefined : t("test.type.help")}
          value={type}
          onChange={setType}
          options={[USUAL_TYPE, ...described.map(({ name }) => name)].map((name) => ({
            value: name,
            text: name,
          }))}
        />
        {example && <Json value={example} label={t("types.example")} />}
        <p class="form-end">
          {isDisabled ? (
            <span class="muted">{t("test.disabled")}</span>
          ) : (
            <Button kind="primary" type="submit" icon="play" busy={isBusy}>
              {isBusy ? t("test.busy") : t("test.send")}
            </Button>
          )}
        </p>
      </form>
      <div aria-live="polite">{attempt && <Result attempt={attempt} />}</div>
    </>
  );
}

function Result({ attempt }: { attempt: Attempt }): JSX.Element {
  const isGood = attempt.outcome === "delivered";
  const said = isGood ? null : explain(attempt);
  return (
    <div class="result">
      <div class={isGood ? "notice good" : "notice bad"}>
        <p>
          <strong>{said ? said.what : t("test.good")}</strong> {said?.next}
        </p>
        <p>
          <a href={to(`/deliveries/${attempt.delivery_id}`)}>{t("endpoint.trouble.see")}</a>
        </p>
      </div>
      <Facts
        items={[
          [
            t("test.status"),
            <Badge
              key="status"
              tone={isGood ? "good" : "bad"}
              icon={isGood ? "check" : "cross"}
              text={attempt.status_code === null ? t("test.noanswer") : String(attempt.status_code)}
            />,
          ],
          [t("test.duration"), duration(attempt.duration_ms)],
        ]}
      />
      {attempt.response_body ? <Body text={attempt.response_body} label={t("test.response")} /> : null}
      {attempt.request_body ? <Body text={attempt.request_body} label={t("test.request")} /> : null}
    </div>
  );
}
