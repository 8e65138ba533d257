import type { Attempt } from "../../types.ts";

/** What curl sets by itself. */
const OWN = ["host", "content-length", "connection", "accept-encoding"];

/**
 * The request of an attempt as a command of a shell. Everything in it is a stranger's, so each part
 * is quoted.
 */
export function curlOf({ url, request_headers: headers, request_body: body }: Attempt): string {
  const lines = [
    `curl -X POST ${quote(url ?? "")}`,
    ...Object.entries(headers)
      .filter(([name]) => !OWN.includes(name.toLowerCase()))
      .map(([name, value]) => `-H ${quote([name, value].join(": "))}`),
    `--data-raw ${quote(body ?? "")}`,
  ];
  return lines.join(" \\\n  ");
}

/** Between single quotes a shell takes everything as it is, but for a single quote. */
function quote(text: string): string {
  const escaped = text.replaceAll("'", String.raw`'\''`);
  return `'${escaped}'`;
}

/** Whether a credential is hidden in it. */
export function isMasked({ request_headers: headers }: Attempt): boolean {
  return Object.values(headers).some((value) => value.includes("***"));
}
