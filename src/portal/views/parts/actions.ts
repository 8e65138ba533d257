import { send } from "../../api.ts";
import { messageOf } from "../../components/states.tsx";
import { toast } from "../../components/toast.tsx";
import { t } from "../../i18n.ts";
import { refresh } from "../../resource.ts";
import type { Endpoint } from "../../types.ts";

/** What several screens do. Each says what came of it, and has the page read anew. */

/** True where it was done. */
export async function act(run: () => Promise<unknown>, done: string): Promise<boolean> {
  try {
    await run();
    toast(done);
    return true;
  } catch (error) {
    toast(messageOf(error), "bad");
    return false;
  } finally {
    refresh();
  }
}

export function retryNow(deliveryId: string): Promise<boolean> {
  return act(() => send("POST", `/v1/deliveries/${deliveryId}/retry`, {}), t("delivery.retry.done"));
}

export function enable({ id }: Pick<Endpoint, "id">): Promise<boolean> {
  return act(() => send("POST", `/v1/endpoints/${id}/enable`, {}), t("endpoint.enable.done"));
}

export function pause({ id }: Pick<Endpoint, "id">): Promise<boolean> {
  return act(() => send("POST", `/v1/endpoints/${id}/pause`, {}), t("endpoint.pause.done"));
}

export function resume({ id }: Pick<Endpoint, "id">): Promise<boolean> {
  return act(() => send("POST", `/v1/endpoints/${id}/resume`, {}), t("endpoint.resume.done"));
}
