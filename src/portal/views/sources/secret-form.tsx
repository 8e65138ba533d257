import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { FormErrors, otherFaults } from "../../components/field.tsx";
import { toast } from "../../components/toast.tsx";
import { t } from "../../i18n.ts";
import { refresh } from "../../resource.ts";
import type { FormField, Source } from "../../types.ts";
import { ConfigForm, configOf, type ConfigValues } from "../parts/config-form.tsx";

export const SIGNING_SECRET = "signing_secret";

/** Where the API points at what is entered. */
function pointersOf(name: string): string[] {
  return [name === SIGNING_SECRET ? `/${SIGNING_SECRET}` : `/credentials/${name}`];
}

/** Names of what is stored already: it is never read again. */
export function storedOf({ signing_secret: secret, credentials }: Source): Set<string> {
  return new Set([...Object.keys(credentials), ...(secret === null ? [] : [SIGNING_SECRET])]);
}

interface SecretFormProps {
  source: Source;
  /** Fields of the provider that are asked for here. */
  fields: readonly FormField[];
}

/** What the provider issued, entered: it is stored encrypted, and shown by nobody again. */
export function SecretForm({ source, fields }: SecretFormProps): JSX.Element {
  const [values, setValues] = useState<ConfigValues>({});
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const stored = storedOf(source);
  const save = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await send("PATCH", `/v1/sources/${source.id}`, bodyOf(fields, values, stored));
      setError(null);
      setValues({});
      toast(t("sourcesecret.saved"));
      refresh();
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  const pointers = fields.flatMap(({ name }) => pointersOf(name));
  return (
    <form onSubmit={(event) => void save(event)}>
      <FormErrors messages={otherFaults(error, pointers)} />
      <ConfigForm
        isFlat
        fields={fields}
        values={values}
        onChange={setValues}
        error={error}
        stored={stored}
        pointersOf={pointersOf}
      />
      <Button kind="primary" type="submit" icon="key" busy={isBusy}>
        {t("save")}
      </Button>
    </form>
  );
}

function bodyOf(fields: readonly FormField[], values: ConfigValues, stored: ReadonlySet<string>): object {
  const { [SIGNING_SECRET]: secret, ...credentials } = configOf(fields, values, stored);
  return {
    ...(secret !== undefined && { signing_secret: secret }),
    ...(Object.keys(credentials).length > 0 && { credentials }),
  };
}
