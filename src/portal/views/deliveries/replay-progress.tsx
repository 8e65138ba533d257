import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { get, send } from "../../api.ts";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { number } from "../../display/format.ts";
import { t } from "../../i18n.ts";
import { refresh, useResource } from "../../resource.ts";
import type { Page, Replay } from "../../types.ts";
import { act } from "../parts/actions.ts";

/** The bulk replay that is shown: one that was begun here, or that was running when the page was opened. */
const watched = signal<Replay | null>(null);
const dismissed = signal<ReadonlySet<string>>(new Set());
const POLL_MS = 700;

export function watchReplay(replay: Replay): void {
  watched.value = replay;
}

export function ReplayProgress(): JSX.Element | null {
  const { data } = useResource<Page<Replay>>("/v1/replays?limit=5", { polls: false });
  const running = data?.data.find(({ status }) => status === "running");
  useEffect(() => {
    if (running && watched.peek() === null) watched.value = running;
  }, [running]);
  const replay = watched.value;
  usePolling(replay);
  if (replay === null || dismissed.value.has(replay.id)) return null;
  const { id, status, matched, replayed } = replay;
  const cancel = () => act(() => send("POST", `/v1/replays/${id}/cancel`, {}), t("replay.cancel.done"));
  const dismiss = () => (dismissed.value = new Set([...dismissed.value, id]));
  return (
    <div class={`replay-progress ${status}`}>
      <p role="status">
        {status !== "running" && <Icon name={status === "completed" ? "check" : "stop"} />}
        {t(`replay.${status}`, { replayed: number(replayed), count: matched })}
      </p>
      <progress max={Math.max(1, matched)} value={replayed} aria-label={t("replay.title")} />
      {status === "running" ? (
        <Button onClick={() => void cancel().then(() => read(id))}>{t("replay.cancel")}</Button>
      ) : (
        <Button kind="quiet" onClick={dismiss}>
          {t("close")}
        </Button>
      )}
    </div>
  );
}

async function read(id: string): Promise<void> {
  const replay = await get<Replay>(`/v1/replays/${id}`);
  const hasEnded = watched.peek()?.status === "running" && replay.status !== "running";
  watched.value = replay;
  if (hasEnded) refresh();
}

/** Reads how far it is while it runs and somebody looks. */
function usePolling(replay: Replay | null): void {
  const id = replay?.status === "running" ? replay.id : null;
  useEffect(() => {
    if (id === null) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void read(id);
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [id]);
}
