/** The error codes of an attempt that got no answer, each with what it means and what to do next. */

/** `error_code` → one sentence for a person. Documentation and portal print this table. */
export const ERROR_CODES: Readonly<Record<string, string>> = {
  address_not_allowed:
    "The host leads to an address that is not public; use a public destination, or ask the operator to allow the range.",
  connection_closed:
    "The receiver closed the connection before it answered; look for a crash or a proxy limit on its side.",
  connection_failed:
    "The connection broke for a reason that the system did not name; look at the receiver and the network.",
  connection_refused:
    "Nothing accepts connections at this host and port, or no route leads there; check the URL, firewall, and that the receiver runs.",
  connection_reset:
    "The receiver reset the connection before it answered; look for a crash, a firewall or a proxy limit on its side.",
  dns_failed: "The name could not be looked up just now; check the name servers of the domain.",
  dns_not_found: "The host name does not exist; check the URL for a typing error, and the DNS records.",
  head_too_large: "The head of the answer exceeds 16 KiB; send fewer or shorter response headers.",
  invalid_response:
    "What came back is not a valid HTTP/1.1 answer; check that the port speaks HTTP and that content-length is right.",
  timeout_body: "The answer began but did not end in time; answer with a short body, at once.",
  timeout_connect:
    "No connection came about in time; check DNS, the port and the firewall in front of the receiver.",
  timeout_response:
    "The receiver took the request but did not answer in time; answer first, work afterwards.",
  timeout_tls: "The TLS handshake did not end in time; check that the port speaks TLS.",
  tls_expired: "The certificate has expired or is not valid yet; renew it, or correct the receiver's clock.",
  tls_failed:
    "The TLS handshake failed; check that the port speaks TLS 1.2 or 1.3 and asks for no client certificate.",
  tls_name_mismatch: "The certificate is for another name; install one that covers the host of the URL.",
  tls_untrusted:
    "The certificate comes from no authority that is trusted here; install one of a public authority, with its intermediate certificates.",
};

const EXPIRED = ["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"];
const RESET = ["ECONNRESET", "EPIPE"];

/** Sorts the error of a refused handshake; what is not about the protocol is about trust in the chain. */
export function classifyTlsError(error: Error | null): string {
  const code = readCode(error);
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "tls_name_mismatch";
  if (EXPIRED.includes(code)) return "tls_expired";
  if (code === "" || RESET.includes(code) || isProtocolError(code)) return "tls_failed";
  return "tls_untrusted";
}

/** Sorts the error of a closed socket; none means that the receiver closed it in order. */
export function classifySocketError(error: Error | undefined): string {
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
