import { span } from "../../display/format.ts";
import { t } from "../../i18n.ts";

/** How long a secret may go on beside the one that takes its place. */
export const OVERLAP_HOURS = [0, 1, 24, 72, 168];

const HOUR_SECONDS = 3600;

export function overlapText(hours: number): string {
  return hours === 0 ? t("secret.overlap.none") : span(hours * HOUR_SECONDS);
}
