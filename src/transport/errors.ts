import type { NoAnswerCode } from "../core/attempt-error.ts";

/** Sorts the errors of sockets and handshakes into the codes of attempts that got no answer. */

const EXPIRED = ["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"];
const RESET = ["ECONNRESET", "EPIPE"];

/** Sorts the error of a refused handshake; what is not about the protocol is about trust in the chain. */
export function classifyTlsError(error: Error | null): NoAnswerCode {
  const code = readCode(error);
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "tls_name_mismatch";
  if (EXPIRED.includes(code)) return "tls_expired";
  if (code === "" || RESET.includes(code) || isProtocolError(code)) return "tls_failed";
  return "tls_untrusted";
}

/** Sorts the error of a closed socket; none means that the receiver closed it in order. */
export function classifySocketError(error: Error | undefined): NoAnswerCode {
  const code = readCode(error);
  if (error === undefined) return "connection_closed";
  if (isProtocolError(code)) return "tls_failed";
  return RESET.includes(code) ? "connection_reset" : "connection_failed";
}

function isProtocolError(code: string): boolean {
  return code === "EPROTO" || code.startsWith("ERR_SSL_");
}

function readCode(error: Error | null | undefined): string {
  if (!error || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}
