import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { CheckField, SelectField } from "../../components/field.tsx";
import { Choice } from "../../components/layout.tsx";
import { messageOf } from "../../components/states.tsx";
import { t } from "../../i18n.ts";
import { refresh } from "../../resource.ts";
import type { DeliveryStatus, Replay } from "../../types.ts";
import { STATUSES } from "./filter.ts";
import { watchReplay } from "./replay-progress.tsx";

interface ReplayDialogProps {
  /** Ids of the rows that are ticked. */
  picked: readonly string[];
  /** The list's filter as a replay says it; null where it cannot. */
  filter: object | null;
  status: DeliveryStatus | null;
  onClose: () => void;
  onStarted: () => void;
}

const RATES = ["0", "1", "10", "50", "100"] as const;

/** What would be replayed is counted first; it begins by a button that says how many. */
export function ReplayDialog({ picked, filter, status, onClose, onStarted }: ReplayDialogProps): JSX.Element {
  const [isPicked, setPicked] = useState(picked.length > 0);
  const [statuses, setStatuses] = useState<readonly DeliveryStatus[]>(status ? [status] : ["dead"]);
  const [rate, setRate] = useState("0");
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const body = isPicked ? { delivery_ids: picked } : { ...filter, status: statuses };
  const count = useCount(body, !isPicked && statuses.length === 0);
  const start = async () => {
    setBusy(true);
    try {
      const limited = rate === "0" ? {} : { rate_per_second: Number(rate) };
      watchReplay(await send<Replay>("POST", "/v1/replays", { ...body, ...limited }));
      onStarted();
      refresh();
    } catch (error) {
      setFailure(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("replay.title")} onClose={onClose}>
      {picked.length > 0 && filter !== null && (
        <Choice
          label={t("replay.which")}
          value={isPicked ? "picked" : "all"}
          options={[
            { value: "picked", text: t("replay.picked", { count: picked.length }) },
            { value: "all", text: t("replay.all") },
          ]}
          onChange={(value) => setPicked(value === "picked")}
        />
      )}
      {!isPicked && status === null && <States chosen={statuses} onChange={setStatuses} />}
      <Rate value={rate} onChange={setRate} />
      <p class="muted">{t("replay.same")}</p>
      <p role="status" class={(failure ?? count.failure) ? "notice bad" : "strong"}>
        {failure ?? count.failure ?? tellCount(count.matched)}
      </p>
      <div class="actions">
        <Button onClick={onClose}>{t("cancel")}</Button>
        {count.matched !== null && count.matched > 0 && (
          <Button kind="primary" icon="retry" busy={isBusy} onClick={() => void start()}>
            {t("replay.start", { count: count.matched })}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function Rate({ value, onChange }: { value: string; onChange: (value: string) => void }): JSX.Element {
  return (
    <SelectField
      label={t("replay.rate")}
      help={t("replay.rate.help")}
      value={value}
      onChange={onChange}
      options={RATES.map((one) => ({
        value: one,
        text: one === "0" ? t("replay.rate.none") : t("replay.rate.some", { count: Number(one) }),
      }))}
    />
  );
}

function tellCount(matched: number | null): string {
  if (matched === null) return t("replay.counting");
  return matched === 0 ? t("replay.none") : t("replay.matched", { count: matched });
}

/** A dry run, whenever what is asked for changes; `matched` is null until it is known. */
function useCount(body: object, isNothing: boolean): { matched: number | null; failure: string | null } {
  const [counted, setCounted] = useState<{ of: string; matched: number | null; failure: string | null }>();
  const asked = JSON.stringify(body);
  const newest = useRef(asked);
  newest.current = asked;
  useEffect(() => {
    if (isNothing) return;
    send<{ matched: number }>("POST", "/v1/replays", { ...body, dry_run: true }).then(
      ({ matched }) => newest.current === asked && setCounted({ of: asked, matched, failure: null }),
      (error: unknown) => setCounted({ of: asked, matched: null, failure: messageOf(error) }),
    );
  }, [asked, isNothing]);
  if (isNothing) return { matched: 0, failure: null };
  return counted?.of === asked ? counted : { matched: null, failure: null };
}

function States({
  chosen,
  onChange,
}: {
  chosen: readonly DeliveryStatus[];
  onChange: (statuses: readonly DeliveryStatus[]) => void;
}): JSX.Element {
  return (
    <fieldset class="states">
      <legend>{t("replay.states")}</legend>
      {STATUSES.map((status) => (
        <CheckField
          key={status}
          label={t(`status.${status}`)}
          checked={chosen.includes(status)}
          onChange={(on) => onChange(on ? [...chosen, status] : chosen.filter((one) => one !== status))}
        />
      ))}
    </fieldset>
  );
}
