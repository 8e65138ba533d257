import type { JSX } from "preact";
import { SearchField } from "../../components/search.tsx";
import { Empty } from "../../components/states.tsx";
import { t } from "../../i18n.ts";
import type { Provider } from "../../types.ts";
import { isGeneric } from "./generic.ts";

/** Providers whose name, key or alias holds the text; a name that begins with it comes first. */
export function fitting(providers: readonly Provider[], q: string): Provider[] {
  const wanted = q.trim().toLowerCase();
  const fits = providers.filter(({ name, key, aliases }) =>
    [name, key, ...aliases].some((text) => text.toLowerCase().includes(wanted)),
  );
  const rank = ({ name }: Provider) => (name.toLowerCase().startsWith(wanted) ? 0 : 1);
  return fits.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

interface PickerProps {
  providers: readonly Provider[];
  value: Provider | null;
  q: string;
  onSearch: (q: string) => void;
  onChange: (provider: Provider) => void;
}

export function ProviderPicker({ providers, value, q, onSearch, onChange }: PickerProps): JSX.Element {
  const found = fitting(providers, q);
  const named = found.filter((one) => !isGeneric(one));
  // Where nothing is found, the providers that take anything are shown.
  const any = (named.length === 0 ? providers : found).filter(isGeneric);
  return (
    <>
      <div class="filters">
        <SearchField
          label={t("newsource.search", { count: providers.length })}
          value={q}
          onInput={onSearch}
        />
      </div>
      {named.length === 0 && (
        <Empty title={t("newsource.nomatch")} icon="search">
          <p>{t("newsource.nomatch.text")}</p>
        </Empty>
      )}
      <Group title={t("newsource.named")} providers={named} value={value} onChange={onChange} />
      <Group title={t("newsource.any")} providers={any} value={value} onChange={onChange} />
    </>
  );
}

interface GroupProps extends Pick<PickerProps, "providers" | "value" | "onChange"> {
  title: string;
}

function Group({ title, providers, value, onChange }: GroupProps): JSX.Element | null {
  if (providers.length === 0) return null;
  return (
    <fieldset class="providers">
      <legend>{title}</legend>
      <div class="kinds">
        {providers.map((provider) => (
          <label key={provider.key} class="kind">
            <input
              type="radio"
              name="provider"
              value={provider.key}
              checked={value?.key === provider.key}
              onChange={() => onChange(provider)}
            />
            <span>{provider.name}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
