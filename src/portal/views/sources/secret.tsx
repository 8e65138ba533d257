import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { confirm } from "../../components/dialog.tsx";
import { errorAt, FormErrors, otherFaults, SelectField, TextField } from "../../components/field.tsx";
import { Choice, Facts, Section } from "../../components/layout.tsx";
import { Countdown } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { fieldText, t } from "../../i18n.ts";
import { refresh } from "../../resource.ts";
import type { Provider, Source } from "../../types.ts";
import { OVERLAP_HOURS, overlapText } from "../parts/overlap-choices.ts";
import { SecretForm, SIGNING_SECRET, storedOf } from "./secret-form.tsx";
import type { SourceTabProps } from "./source-tab.ts";

/** What requests are verified with: whether it is there, entered, and exchanged without a gap. */
export function SourceSecret({ source, provider }: SourceTabProps): JSX.Element {
  const { fields, name, secret_from: from, setup } = provider;
  const holds = from === "source" || source.signing_secret !== null;
  const takesSecret = fields.some((field) => field.name === SIGNING_SECRET);
  const asked = fields.filter((field) => field.name !== SIGNING_SECRET || !holds);
  return (
    <>
      <Section title={t("sourcesecret.title")}>
        <State source={source} provider={provider} />
        <p class="muted" lang="en">
          {setup.secret_at}
        </p>
      </Section>
      {asked.length > 0 && (
        <Section title={t("sourcesecret.enter", { provider: name })}>
          <SecretForm source={source} fields={asked} />
        </Section>
      )}
      {takesSecret && holds && <Rotation source={source} provider={provider} />}
    </>
  );
}

interface PartProps {
  source: Source;
  provider: Provider;
}

function State({ source, provider }: PartProps): JSX.Element {
  const stored = storedOf(source);
  const items = provider.fields.map(({ name, label: english, required }): [string, string] => {
    const label = fieldText(english);
    if (stored.has(name)) return [label, t("sourcesecret.entered")];
    if (name === SIGNING_SECRET && provider.secret_from === "source") return [label, t("sourcesecret.own")];
    return [label, required ? t("sourcesecret.missing") : t("sourcesecret.optional")];
  });
  const until = source.previous_secret_expires_at;
  return (
    <>
      <Facts items={items} />
      {until && (
        <p class="notice wait">
          <span>
            {t("sourcesecret.overlap")} <Countdown until={until} />
          </span>
        </p>
      )}
    </>
  );
}

type Whose = "ours" | "theirs";

/** The form of a rotation: whose the new one is, and how long the present one holds on. */
function useRotation({ source, provider }: PartProps) {
  const canBeOurs = provider.secret_from === "source";
  const [whose, setWhose] = useState<Whose>(canBeOurs && source.signing_secret === null ? "ours" : "theirs");
  const [secret, setSecret] = useState("");
  const [hours, setHours] = useState(24);
  const [made, setMade] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const rotate = async () => {
    const isSure = await confirm({
      title: t("secret.rotate.title"),
      body: t(hours === 0 ? "sourcesecret.rotate.now" : "sourcesecret.rotate.text", {
        provider: provider.name,
        time: overlapText(hours),
      }),
      action: t("secret.rotate"),
      danger: hours === 0,
    });
    if (!isSure) return;
    setBusy(true);
    try {
      const answer = await send<{ secret?: string }>("POST", `/v1/sources/${source.id}/rotate-secret`, {
        expiry_hours: hours,
        ...(whose === "theirs" && { signing_secret: secret.trim() }),
      });
      setMade(answer.secret ?? null);
      setSecret("");
      setError(null);
      toast(t("secret.rotated"));
      refresh();
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  return { canBeOurs, whose, setWhose, secret, setSecret, hours, setHours, made, error, isBusy, rotate };
}

function Rotation(props: PartProps): JSX.Element {
  const { name, fields } = props.provider;
  const form = useRotation(props);
  const field = fields.find((one) => one.name === SIGNING_SECRET);
  const isHidden = field?.secret ?? true;
  return (
    <Section title={t("secret.rotate")}>
      {form.made && (
        <div class="result">
          <p class="notice wait">
            <span>{t("sourcesecret.made", { provider: name })}</span>
          </p>
          <Code text={form.made} label={t("secret.label")} />
        </div>
      )}
      <form
        class="form-end"
        onSubmit={(event) => {
          event.preventDefault();
          void form.rotate();
        }}
      >
        <FormErrors messages={otherFaults(form.error, ["/signing_secret", "/expiry_hours"])} />
        {form.canBeOurs && <WhoseChoice name={name} value={form.whose} onChange={form.setWhose} />}
        {form.whose === "theirs" && (
          <TextField
            label={field ? fieldText(field.label) : t("secret.label")}
            help={field && fieldText(field.help)}
            value={form.secret}
            onInput={form.setSecret}
            error={errorAt(form.error, "/signing_secret")}
            required
            mono
            {...(isHidden ? { type: "password" } : { rows: 6 })}
          />
        )}
        <SelectField
          label={t("secret.overlap.label")}
          help={t("sourcesecret.overlap.help", { provider: name })}
          value={String(form.hours)}
          onChange={(value) => form.setHours(Number(value))}
          options={OVERLAP_HOURS.map((value) => ({ value: String(value), text: overlapText(value) }))}
        />
        <Button type="submit" icon="key" busy={form.isBusy}>
          {t("secret.rotate")}
        </Button>
      </form>
    </Section>
  );
}

interface WhoseProps {
  name: string;
  value: Whose;
  onChange: (value: Whose) => void;
}

function WhoseChoice({ name, value, onChange }: WhoseProps): JSX.Element {
  return (
    <div class="field">
      <Choice
        label={t("sourcesecret.whose")}
        value={value}
        options={[
          { value: "ours", text: t("sourcesecret.ours") },
          { value: "theirs", text: t("sourcesecret.theirs", { provider: name }) },
        ]}
        onChange={onChange}
      />
    </div>
  );
}
