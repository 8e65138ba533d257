import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { CheckField, SelectField, TextField } from "../../components/field.tsx";
import { Choice } from "../../components/layout.tsx";
import { messageOf } from "../../components/states.tsx";
import { t } from "../../i18n.ts";
import { refresh } from "../../resource.ts";
import type { DeliveryStatus, Replay } from "../../types.ts";
import { type ReplayFilter, STATUSES } from "./filter.ts";
import { watchReplay } from "./replay-progress.tsx";

interface ReplayDialogProps {
  /** Ids of the rows that are ticked. */
  picked: readonly string[];
  /** The list's filter as a replay says it; null where it cannot. */
  filter: ReplayFilter | null;
  status: DeliveryStatus | null;
  onClose: () => void;
  onStarted: () => void;
}

/** `missing`: events that an endpoint never had. */
type Way = "picked" | "all" | "missing";

/** What is entered. */
interface Draft {
  way: Way;
  states: readonly DeliveryStatus[];
  /** In the reader's own time, as the browser's field has it. */
  since: string;
  rate: string;
}

const RATES = ["0", "1", "10", "50", "100"] as const;

/** What would be replayed is counted first; it begins by a button that says how many. */
export function ReplayDialog({ picked, filter, status, onClose, onStarted }: ReplayDialogProps): JSX.Element {
  const ways = waysOf(picked, filter);
  const [draft, setDraft] = useState<Draft>({
    way: ways[0] ?? "all",
    states: status ? [status] : ["dead"],
    since: filter?.since ? toLocal(filter.since) : "",
    rate: "0",
  });
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const put = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const { way, states, rate } = draft;
  const body = bodyOf(draft, picked, filter);
  const count = useCount(body, way === "all" && states.length === 0);
  const words = way === "missing" ? "replay.missing" : "replay";
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
      <Ways ways={ways} value={way} picked={picked.length} onChange={(chosen) => put({ way: chosen })} />
      {way === "all" && status === null && (
        <States chosen={states} onChange={(chosen) => put({ states: chosen })} />
      )}
      {way === "missing" && <Since value={draft.since} types={filter?.event_types} put={put} />}
      <Rate value={rate} onChange={(chosen) => put({ rate: chosen })} />
      {way !== "missing" && <p class="muted">{t("replay.same")}</p>}
      <p role="status" class={(failure ?? count.failure) ? "notice bad" : "strong"}>
        {failure ?? count.failure ?? tellCount(words, count.matched)}
      </p>
      <div class="actions">
        <Button onClick={onClose}>{t("cancel")}</Button>
        {count.matched !== null && count.matched > 0 && (
          <Button kind="primary" icon="retry" busy={isBusy} onClick={() => void start()}>
            {t(`${words}.start`, { count: count.matched })}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function waysOf(picked: readonly string[], filter: ReplayFilter | null): Way[] {
  return [
    ...(picked.length > 0 ? (["picked"] as const) : []),
    ...(filter ? (["all"] as const) : []),
    ...(filter?.endpoint_id ? (["missing"] as const) : []),
  ];
}

/** What is sent, speed aside. */
function bodyOf(
  { way, states, since }: Draft,
  picked: readonly string[],
  filter: ReplayFilter | null,
): object {
  if (way === "picked") return { delivery_ids: picked };
  if (way === "all") return { ...filter, status: states };
  const { endpoint_id, event_types } = filter ?? {};
  const at = since === "" ? {} : { since: new Date(since).toISOString() };
  return { missing: true, endpoint_id, ...(event_types && { event_types }), ...at };
}

/** A time for the browser's field: the reader's own, to the minute. */
function toLocal(time: string): string {
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

interface WaysProps {
  ways: readonly Way[];
  value: Way;
  picked: number;
  onChange: (way: Way) => void;
}

function Ways({ ways, value, picked, onChange }: WaysProps): JSX.Element | null {
  if (ways.length < 2) return null;
  return (
    <Choice
      label={t("replay.which")}
      value={value}
      options={ways.map((way) => ({ value: way, text: t(`replay.way.${way}`, { count: picked }) }))}
      onChange={onChange}
    />
  );
}

interface SinceProps {
  value: string;
  types: readonly string[] | undefined;
  put: (part: Partial<Draft>) => void;
}

function Since({ value, types = [], put }: SinceProps): JSX.Element {
  return (
    <>
      <p class="muted">{t("replay.missing.text")}</p>
      {types.map((type) => (
        <p key={type} class="muted">
          {t("replay.missing.type", { type })}
        </p>
      ))}
      <TextField
        type="datetime-local"
        label={t("replay.since")}
        help={t("replay.since.help")}
        value={value}
        onInput={(since) => put({ since })}
      />
    </>
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

function tellCount(words: "replay" | "replay.missing", matched: number | null): string {
  if (matched === null) return t("replay.counting");
  return matched === 0 ? t(`${words}.none`) : t(`${words}.matched`, { count: matched });
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
