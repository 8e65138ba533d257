/**
 * Why an attempt was not delivered: the `code` of its error is one of these, and nothing else. What a server
 * said in words of its own stands beside it, in `detail`. Each has one sentence for a person: what is wrong,
 * and what to do next. Documentation and refusals print them.
 */

/** No answer came. The transport gives these. */
const NO_ANSWER = {
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
} as const;

/** The message could not be made: `detail` says why. */
const NOT_MADE = {
  body_too_large: "The body is larger than the destination takes; send less with a transformation.",
  message_refused: "The message cannot be written in the form of this destination; `error_detail` says why.",
  settings_unreadable: "The settings of the endpoint cannot be read; save it again.",
  transformation_failed:
    "The transformations of the endpoint do not fit this event; `error_detail` says why.",
} as const;

/** The destination answered, and did not take the message. A kind says in its own row what it means there. */
const NOT_TAKEN = {
  bucket_not_found: "There is no such bucket; make it, or correct the name.",
  credentials_refused: "The credentials are wrong; enter the right ones.",
  entity_not_found: "There is no such queue or topic; make it, or correct the name.",
  exchange_internal: "The exchange is internal: nobody may publish to it; take another one.",
  exchange_not_found: "There is no such exchange; make it, or correct the name.",
  management_tag_missing: "The user lacks the tag `management`; give it.",
  message_too_large: "The message is larger than the destination takes; send less with a transformation.",
  namespace_not_found: "There is no such tenant or namespace; make it, or correct the name.",
  offset_missing: "The proxy did not wait for the broker; set its acks to 1 or all.",
  other_broker: "Another broker owns the topic; use the address of the proxy before them.",
  permission_missing: "The credentials lack a permission; `error_detail` names it where the answer does.",
  queue_disabled: "The queue is disabled; enable it.",
  queue_full: "The queue is full; let its consumers catch up.",
  queue_not_found: "There is no such queue; make it, or correct the name.",
  quota_exceeded: "A quota is used up; the endpoint slows down where the answer asks for it.",
  record_refused:
    "The proxy does not take a record of this form; see what the kind of destination says of it.",
  refused: "The destination refused with an error of its own; `error_detail` names it.",
  role_refused: "The role could not be assumed; `error_detail` is the reason that STS gave.",
  schema_refused:
    "The topic has a schema that the message does not fit; use a topic without one, or a transformation.",
  send_claim_missing: "The policy lacks the claim Send; use one that has it.",
  signature_refused: "The signature was refused: a key is wrong, or has expired; enter a valid one.",
  token_refused: "The access token was refused; the next attempt asks for a new one.",
  token_unavailable: "No access token could be had; `error_detail` is the OAuth error.",
  topic_not_found: "There is no such topic; make it, or correct the name.",
  unexpected_answer:
    "The status means success, but the answer is not one of this kind of destination; check the address.",
  unroutable: "No queue is bound that takes this routing key; bind one.",
  vhost_refused:
    "The virtual host does not exist, or is not open to the user; check its name and the permissions.",
  write_permission_missing: "The user lacks write permission on the exchange; grant it.",
} as const;

export const ATTEMPT_ERRORS = { ...NO_ANSWER, ...NOT_MADE, ...NOT_TAKEN };

export type NoAnswerCode = keyof typeof NO_ANSWER;
export type AttemptErrorCode = keyof typeof ATTEMPT_ERRORS;

export interface AttemptError {
  code: AttemptErrorCode;
  /** In the words of whoever said no; null where the code says it all. */
  detail: string | null;
}

export const NO_ANSWER_CODES = Object.keys(NO_ANSWER) as NoAnswerCode[];
export const ATTEMPT_ERROR_CODES = Object.keys(ATTEMPT_ERRORS) as AttemptErrorCode[];
