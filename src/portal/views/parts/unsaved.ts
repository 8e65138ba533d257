import { useEffect } from "preact/hooks";
import { confirm } from "../../components/dialog.tsx";
import { t } from "../../i18n.ts";
import { guardLeaving } from "../../router.ts";

/** While something is not saved, leaving asks. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return undefined;
    return guardLeaving(() =>
      confirm({
        title: t("unsaved.title"),
        body: t("unsaved.text"),
        action: t("unsaved.leave"),
        danger: true,
      }),
    );
  }, [isUnsaved]);
}
