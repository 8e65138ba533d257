import type { JSX } from "preact";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { confirm } from "../../components/dialog.tsx";
import { Facts, Section } from "../../components/layout.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n.ts";
import { go, to } from "../../router.ts";
import { may } from "../../session.ts";
import type { Provider, Source } from "../../types.ts";
import { act } from "../parts/actions.ts";
import { configFacts, valuesOf } from "../parts/config-form.tsx";
import { SavedForm } from "../parts/saved-form.tsx";
import { bodyOf, FieldsForm, POINTERS, type SourceFields } from "./fields-form.tsx";
import type { SourceTabProps } from "./source-tab.ts";

/** A source's name, what its check is told, whose its events are; as facts for people who only read. */
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

function SettingsForm({ source, provider }: PartProps): JSX.Element {
  return (
    <SavedForm
      initial={() => fieldsOf(source)}
      path={`/v1/sources/${source.id}`}
      bodyOf={(form) => bodyOf(form, provider)}
      saved={t("sourcesettings.saved")}
      pointers={POINTERS}
    >
      {(form, setForm, error) => (
        <FieldsForm provider={provider} value={form} onChange={setForm} error={error} />
      )}
    </SavedForm>
  );
}

function Read({ source, provider }: PartProps): JSX.Element {
  const { consumer_id: consumer, rate_limit_per_second: rate, config, created_at: at } = source;
  return (
    <Facts
      items={[
        [t("sourcesettings.provider"), source.provider_name],
        ...configFacts(provider.config_fields, config),
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
