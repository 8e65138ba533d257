import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { t } from "../../i18n.ts";
import { go, to } from "../../router.ts";
import type { Delivery, Page } from "../../types.ts";
import { act } from "../parts/actions.ts";

const WAYS = ["same", "new"] as const;
type Way = (typeof WAYS)[number];

/** Again under its id, or as a new message: the difference decides whether the receiver takes it. */
export function ReplayOne({ delivery, onClose }: { delivery: Delivery; onClose: () => void }): JSX.Element {
  const [way, setWay] = useState<Way>("same");
  const [isBusy, setBusy] = useState(false);
  const replay = async () => {
    setBusy(true);
    const body = { endpoint_ids: [delivery.endpoint_id], new_message_id: way === "new" };
    const run = async () => {
      const { data } = await send<Page<Delivery>>("POST", `/v1/events/${delivery.event_id}/replay`, body);
      const [made] = data;
      if (made && made.id !== delivery.id) go(to(`/deliveries/${made.id}`));
    };
    await act(run, t("replay.one.done"));
    onClose();
  };
  return (
    <Dialog title={t("replay.one.title")} onClose={onClose}>
      <fieldset class="ways">
        <legend class="hidden">{t("replay.one.title")}</legend>
        {WAYS.map((one) => (
          <label key={one}>
            <input type="radio" name="way" checked={way === one} onChange={() => setWay(one)} />
            <span>
              <strong>{t(`replay.one.${one}`)}</strong>
              <span class="muted">{t(`replay.one.${one}.help`)}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div class="actions">
        <Button onClick={onClose}>{t("cancel")}</Button>
        <Button kind="primary" icon="retry" busy={isBusy} onClick={() => void replay()}>
          {t(`replay.one.${way}.do`)}
        </Button>
      </div>
    </Dialog>
  );
}
