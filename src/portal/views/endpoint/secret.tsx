import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { confirm } from "../../components/dialog.tsx";
import { SelectField } from "../../components/field.tsx";
import { Section } from "../../components/layout.tsx";
import { messageOf } from "../../components/states.tsx";
import { Countdown } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { t } from "../../i18n.ts";
import { refresh } from "../../resource.ts";
import { to } from "../../router.ts";
import type { Endpoint, SecretAnswer } from "../../types.ts";
import { OVERLAP_HOURS, overlapText } from "../parts/overlap-choices.ts";

/** What deliveries are signed with: shown when it is asked for, and exchanged without a gap. */
export function EndpointSecret({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const [answer, setAnswer] = useState<SecretAnswer | null>(null);
  const [isBusy, setBusy] = useState(false);
  const ask = async (run: () => Promise<SecretAnswer>, done?: string) => {
    setBusy(true);
    try {
      setAnswer(await run());
      if (done) toast(done);
      refresh();
    } catch (error) {
      toast(messageOf(error), "bad");
    }
    setBusy(false);
  };
  const path = `/v1/endpoints/${endpoint.id}`;
  return (
    <>
      <Section title={t("secret.title")}>
        <p class="muted">
          {t("secret.text")} <a href={to("/verify", { endpoint: endpoint.id })}>{t("secret.verify")}</a>
        </p>
        {answer === null ? (
          <p class="form-end">
            <Button icon="eye" busy={isBusy} onClick={() => void ask(() => get(`${path}/secret`))}>
              {t("secret.reveal")}
            </Button>
          </p>
        ) : (
          <Shown answer={answer} onHide={() => setAnswer(null)} />
        )}
        {endpoint.public_key && <Code text={endpoint.public_key} label={t("secret.public")} />}
      </Section>
      <Rotation
        isBusy={isBusy}
        onRotate={(hours) =>
          ask(() => send("POST", `${path}/rotate-secret`, { expiry_hours: hours }), t("secret.rotated"))
        }
      />
    </>
  );
}

function Shown({ answer, onHide }: { answer: SecretAnswer; onHide: () => void }): JSX.Element {
  const hide = (
    <Button kind="quiet" onClick={onHide}>
      {t("secret.hide")}
    </Button>
  );
  return (
    <>
      <Code text={answer.secret} label={t("secret.label")} actions={hide} />
      {answer.previous_secret_expires_at && (
        <p class="notice wait">
          <span>
            {t("secret.overlap")} <Countdown until={answer.previous_secret_expires_at} />
          </span>
        </p>
      )}
    </>
  );
}

interface RotationProps {
  isBusy: boolean;
  onRotate: (hours: number) => Promise<void>;
}

function Rotation({ isBusy, onRotate }: RotationProps): JSX.Element {
  const [hours, setHours] = useState(24);
  const rotate = async () => {
    const body = hours === 0 ? t("secret.rotate.now") : t("secret.rotate.text", { time: overlapText(hours) });
    const isSure = await confirm({
      title: t("secret.rotate.title"),
      body,
      action: t("secret.rotate"),
      danger: hours === 0,
    });
    if (isSure) await onRotate(hours);
  };
  return (
    <Section title={t("secret.rotate")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void rotate();
        }}
      >
        <SelectField
          label={t("secret.overlap.label")}
          help={t("secret.overlap.help")}
          value={String(hours)}
          onChange={(value) => setHours(Number(value))}
          options={OVERLAP_HOURS.map((value) => ({ value: String(value), text: overlapText(value) }))}
        />
        <Button type="submit" icon="key" busy={isBusy}>
          {t("secret.rotate")}
        </Button>
      </form>
    </Section>
  );
}
