import { effect } from "@preact/signals";
import { render } from "preact";
import { ApiError, get } from "./api.ts";
import { App } from "./app.tsx";
import { startKeys } from "./keys.ts";
import { ownAddress } from "./display/logo.ts";
import { forgetAll, warm } from "./resource.ts";
import { here, startRouter } from "./router.ts";
import { close, isMangled, open, portal, projectOfPage, readFragment, token } from "./session.ts";
import { paint, setIcon, startLook } from "./theme.ts";
import type { Portal } from "./types.ts";
import { overviewPaths } from "./views/overview.tsx";

// What several later views share comes with the first, so that each of them is one file
// more (src/platform/portal-build.ts).
export { Code } from "./components/code.tsx";
export { SearchField } from "./components/search.tsx";
export { ReplayDialog } from "./views/deliveries/replay-dialog.tsx";

/** Takes a token out of the address before anything else can see it there; a view may stand behind it. */
function takeToken(fragment: string): void {
  const { token: found, rest } = readFragment(fragment);
  if (found === null && token.value === null && isMangled(fragment)) {
    history.replaceState(null, "", "#/");
    close("mangled");
  }
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
    // A key says itself whose project it is: its page has an address for all of them, to which a reload
    // comes back.
    const isForeign = projectOfPage() !== null && found.project_id !== projectOfPage();
    if (isForeign) return close("foreign");
    portal.value = found;
    paint(found.branding.color);
    setIcon(ownAddress(found.branding.logo_url));
  } catch (error) {
    // A 401 has closed the session already.
    if (error instanceof ApiError && error.status === 403) close("refused");
    else if (token.value !== null) setTimeout(() => void begin(), AGAIN_MS);
  }
}

// What is shown is asked for while the words of another language are on their way.
const spoken = startLook();
startRouter(takeToken);
startKeys();
if (token.value === null) close(projectOfPage() === null ? "start" : "missing");
effect(() => {
  if (token.value !== null && portal.peek() === null) void begin();
});
// No `await`: what is loaded later imports this file, and would wait for its end.
void spoken.then(() => render(<App />, document.getElementById("app") as HTMLElement));
