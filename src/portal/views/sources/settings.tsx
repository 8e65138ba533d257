import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { confirm } from "../../components/dialog.tsx";
import { FormErrors, otherFaults } from "../../components/field.tsx";
import { Facts, Section } from "../../components/layout.tsx";
import { Time } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { t } from "../../i18n.ts";
import { refresh } from "../../resource.ts";
import { go, to } from "../../router.ts";
import { may } from "../../session.ts";
import type { Provider, Source } from "../../types.ts";
import { act } from "../parts/actions.ts";
import { valuesOf } from "../parts/config-form.tsx";
import { useUnsaved } from "../parts/unsaved.ts";
import { bodyOf, FieldsForm, POINTERS, type SourceFields } from "./fields-form.tsx";
import type { SourceTabProps } from "./source-tab.ts";

/** Its name, what the provider's check is told, whose its events are. Whoever only reads sees it as facts. */
export function SourceSettings({ source, provider }: SourceTabProps): JSX.Element {
  if (!may.manage) return <Read source={source} provider={provider} />;
  return (
    <>
      <SettingsForm source={source} provider={provider} />
      <DeletePart source={source} provider={provider} />
    </>
  );
}

interface PartProps {
  source: Source;
  provider: Provider;
}

function fieldsOf({
  name,
  consumer_id: consumer,
  rate_limit_per_second: rate,
  config,
}: Source): SourceFields {
  return {
    name,
    consumer: consumer ?? "",
    rate: rate === null ? "" : String(rate),
    config: valuesOf(config).values,
  };
}

/** The form as it stands, and as it was saved last: the source may change under it. */
function useSettings({ source, provider }: PartProps) {
  const [before, setBefore] = useState(() => fieldsOf(source));
  const [form, setForm] = useState(before);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const isChanged = JSON.stringify(form) !== JSON.stringify(before);
  useUnsaved(isChanged);
  const save = async () => {
    setBusy(true);
    try {
      await send("PATCH", `/v1/sources/${source.id}`, bodyOf(form, provider));
      setError(null);
      setBefore(form);
      toast(t("sourcesettings.saved"));
      refresh();
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  const discard = () => {
    setForm(before);
    setError(null);
  };
  return { form, setForm, error, isBusy, isChanged, save, discard };
}

function SettingsForm(props: PartProps): JSX.Element {
  const { form, setForm, error, isBusy, isChanged, save, discard } = useSettings(props);
  const submit = (event: Event) => {
    event.preventDefault();
    void save();
  };
  return (
    <form onSubmit={submit}>
      <FormErrors messages={otherFaults(error, POINTERS)} />
      <FieldsForm provider={props.provider} value={form} onChange={setForm} error={error} />
      <div class="actions form-end">
        <Button kind="primary" type="submit" busy={isBusy}>
          {t("save")}
        </Button>
        {isChanged && <Button onClick={discard}>{t("settings.discard")}</Button>}
      </div>
    </form>
  );
}

function Read({ source, provider }: PartProps): JSX.Element {
  const { consumer_id: consumer, rate_limit_per_second: rate, config, created_at: at } = source;
  const fields = provider.config_fields.flatMap(({ name, label }): [string, ComponentChildren][] => {
    const value = config[name];
    return value === undefined
      ? []
      : [[label, <code key={name}>{typeof value === "string" ? value : JSON.stringify(value)}</code>]];
  });
  return (
    <Facts
      items={[
        [t("sourcesettings.provider"), source.provider_name],
        ...fields,
        [t("wizard.consumer"), consumer ?? t("sourcesettings.consumer.none")],
        [t("settings.rate"), rateText(rate)],
        [t("endpoint.created"), <Time key="at" at={at} />],
      ]}
    />
  );
}

function rateText(rate: number | null): string {
  if (rate === null) return t("sourcesettings.rate.usual");
  return rate === 0 ? t("settings.rate.none") : t("settings.rate.some", { count: rate });
}

function DeletePart({ source: { id, name }, provider }: PartProps): JSX.Element {
  const text = t("sourcedelete.text", { provider: provider.name });
  const remove = async () => {
    const question = {
      title: t("delete.title", { name }),
      body: text,
      action: t("sourcedelete.action"),
      danger: true,
    };
    if (!(await confirm(question))) return;
    if (await act(() => send("DELETE", `/v1/sources/${id}`), t("sourcedelete.done"))) go(to("/sources"));
  };
  return (
    <Section title={t("sourcedelete.section")}>
      <p class="muted">{text}</p>
      <p class="form-end">
        <Button kind="danger" onClick={() => void remove()}>
          {t("sourcedelete.action")}
        </Button>
      </p>
    </Section>
  );
}
