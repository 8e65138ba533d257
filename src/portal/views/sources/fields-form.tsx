import type { JSX } from "preact";
import { errorAt, TextField } from "../../components/field.tsx";
import { t } from "../../i18n.ts";
import type { Provider } from "../../types.ts";
import { ConfigForm, configOf, type ConfigValues } from "../parts/config-form.tsx";

/** What may be set of a source, apart from its secrets, as it stands in a form. */
export interface SourceFields {
  name: string;
  consumer: string;
  /** Empty: as the service has it. */
  rate: string;
  config: ConfigValues;
}

export const POINTERS = ["/name", "/consumer_id", "/rate_limit_per_second", "/config"];

export function bodyOf({ name, consumer, rate, config }: SourceFields, provider: Provider): object {
  return {
    name: name.trim(),
    consumer_id: consumer.trim() || null,
    rate_limit_per_second: rate.trim() === "" ? null : Number(rate),
    config: configOf(provider.config_fields, config, new Set()),
  };
}

interface FieldsFormProps {
  provider: Provider;
  value: SourceFields;
  onChange: (value: SourceFields) => void;
  /** What the API said of it. */
  error: unknown;
}

export function FieldsForm({ provider, value, onChange, error }: FieldsFormProps): JSX.Element {
  const change = (part: Partial<SourceFields>) => onChange({ ...value, ...part });
  const required = provider.config_fields.filter((field) => field.required);
  const optional = provider.config_fields.filter((field) => !field.required);
  const others = ["/consumer_id", "/rate_limit_per_second", ...optional.map(({ name }) => `/config/${name}`)];
  const isOpen =
    value.consumer !== "" ||
    value.rate !== "" ||
    optional.some(({ name }) => value.config[name] !== undefined) ||
    others.some((pointer) => errorAt(error, pointer) !== null);
  const config = {
    values: value.config,
    error,
    onChange: (values: ConfigValues) => change({ config: values }),
  };
  return (
    <>
      <TextField
        label={t("settings.description")}
        help={t("settings.description.help")}
        value={value.name}
        onInput={(name) => change({ name })}
        error={errorAt(error, "/name")}
        required
      />
      <ConfigForm isFlat fields={required} {...config} />
      <details class="fold" open={isOpen}>
        <summary>{t("config.more")}</summary>
        <ConfigForm isFlat fields={optional} {...config} />
        <TextField
          label={t("wizard.consumer")}
          optional={t("form.optional")}
          help={t("sourcesettings.consumer.help")}
          value={value.consumer}
          onInput={(consumer) => change({ consumer })}
          error={errorAt(error, "/consumer_id")}
        />
        <TextField
          label={t("sourcesettings.rate")}
          optional={t("form.optional")}
          help={t("sourcesettings.rate.help")}
          type="number"
          value={value.rate}
          onInput={(rate) => change({ rate })}
          error={errorAt(error, "/rate_limit_per_second")}
        />
      </details>
    </>
  );
}
