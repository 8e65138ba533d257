import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { FormErrors, otherFaults } from "../../components/field.tsx";
import { toast } from "../../components/toast.tsx";
import { t } from "../../i18n.ts";
import { refresh } from "../../resource.ts";
import { useUnsaved } from "./unsaved.ts";

interface SavedFormProps<Form> {
  /** The form as it is saved now; read once. */
  initial: () => Form;
  /** What is patched, and with what. */
  path: string;
  bodyOf: (form: Form) => unknown;
  /** What is said once it is saved. */
  saved: string;
  /** Faults at these stand at their fields. */
  pointers: readonly string[];
  children: (form: Form, setForm: (form: Form) => void, error: unknown) => ComponentChildren;
}

/**
 * Settings that are saved together. The form stays as it was saved last, though the thing may change under
 * it; leaving it unsaved asks.
 */
export function SavedForm<Form>(props: SavedFormProps<Form>): JSX.Element {
  const { path, bodyOf, saved, pointers, children } = props;
  const [before, setBefore] = useState(props.initial);
  const [form, setForm] = useState(before);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const isChanged = JSON.stringify(form) !== JSON.stringify(before);
  useUnsaved(isChanged);
  const save = async () => {
    setBusy(true);
    try {
      await send("PATCH", path, bodyOf(form));
      setError(null);
      setBefore(form);
      toast(saved);
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
  const submit = (event: Event) => {
    event.preventDefault();
    void save();
  };
  return (
    <form onSubmit={submit}>
      <FormErrors messages={otherFaults(error, pointers)} />
      {children(form, setForm, error)}
      <div class="actions form-end">
        <Button kind="primary" type="submit" busy={isBusy}>
          {t("save")}
        </Button>
        {isChanged && <Button onClick={discard}>{t("settings.discard")}</Button>}
      </div>
    </form>
  );
}
