import { effect } from "@preact/signals";
import { render } from "preact";
import { ApiError, get } from "./api.ts";
import { App } from "./app.tsx";
import { startKeys } from "./keys.ts";
import { ownAddress } from "./logo.ts";
import { forgetAll, warm } from "./resource.ts";
import { here, startRouter } from "./router.ts";
import { close, open, portal, projectOfPage, readFragment, token } from "./session.ts";
import { paint, setIcon, startLook } from "./theme.ts";
import type { Portal } from "./types.ts";
import { overviewPaths } from "./views/overview.tsx";

/** Takes a token out of the address before anything else can see it there; a view may stand behind it. */
function takeToken(fragment: string): void {
  const { token: found, rest } = readFragment(fragment);
  if (found === null) return;
  history.replaceState(null, "", `#${rest === "" ? "/" : rest}`);
  forgetAll();
  open(found);
}

/** The service is there, and cannot answer just now. */
const AGAIN_MS = 3000;

async function begin(): Promise<void> {
  const { path, query } = here.peek();
  if (path === "/") overviewPaths(query).forEach(warm);
  try {
    const found = await get<Portal>("/v1/portal");
    if (found.project_id !== projectOfPage()) return close("foreign");
    portal.value = found;
    paint(found.branding.color);
    setIcon(ownAddress(found.branding.logo_url));
  } catch (error) {
    // A 401 has closed the session already.
    if (error instanceof ApiError && error.status === 403) close("refused");
    else if (token.value !== null) setTimeout(() => void begin(), AGAIN_MS);
  }
}

await startLook();
startRouter(takeToken);
startKeys();
if (token.value === null) close("missing");
effect(() => {
  if (token.value !== null && portal.peek() === null) void begin();
});
render(<App />, document.getElementById("app") as HTMLElement);
