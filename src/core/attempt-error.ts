/**
 * Why an attempt was not delivered: the `code` of its error is one of these, and nothing else. What a server
 * said in words of its own stands beside it, in `detail`. Each row has all its words: documentation, refusals
 * and the portal print them. The codes that kinds of destinations give stand in destination-errors.ts.
 */
import { type CodeRow, DESTINATION_ERRORS, type Language, type Words } from "./destination-errors.ts";

/** No answer came. The transport gives these. */
const NO_ANSWER = {
  address_not_allowed: {
    en: {
      what: "{host} leads to an address that is not public.",
      next: "Use a public address, or ask the operator to allow this one.",
    },
    de: {
      what: "{host} führt zu einer Adresse, die nicht öffentlich ist.",
      next: "Nehmen Sie eine öffentliche Adresse, oder bitten Sie den Betreiber, diese zu erlauben.",
    },
  },
  connection_closed: {
    en: {
      what: "{host} closed the connection before it answered.",
      next: "Look for a crash, or a limit of a proxy in front of it.",
    },
    de: {
      what: "{host} hat die Verbindung vor der Antwort geschlossen.",
      next: "Suchen Sie einen Absturz oder die Grenze eines Proxys davor.",
    },
  },
  connection_failed: {
    en: { what: "The connection to {host} broke.", next: "Look at the receiver and its network." },
    de: {
      what: "Die Verbindung zu {host} ist abgerissen.",
      next: "Sehen Sie nach dem Empfänger und seinem Netz.",
    },
  },
  connection_refused: {
    en: {
      what: "Nothing accepts connections at {host}, or no route leads there.",
      next: "Check the address and the firewall, and that the receiver runs.",
    },
    de: {
      what: "Bei {host} nimmt nichts Verbindungen an, oder es führt kein Weg dorthin.",
      next: "Prüfen Sie Adresse und Firewall, und ob der Empfänger läuft.",
    },
  },
  connection_reset: {
    en: {
      what: "{host} reset the connection before it answered.",
      next: "Look for a crash, a firewall or a limit of a proxy.",
    },
    de: {
      what: "{host} hat die Verbindung vor der Antwort abgebrochen.",
      next: "Suchen Sie einen Absturz, eine Firewall oder die Grenze eines Proxys.",
    },
  },
  dns_failed: {
    en: { what: "{host} could not be looked up just now.", next: "Check the name servers of the domain." },
    de: { what: "{host} ließ sich gerade nicht auflösen.", next: "Prüfen Sie die Nameserver der Domain." },
  },
  dns_not_found: {
    en: {
      what: "{host} does not exist: DNS knows no such name.",
      next: "Check the address for a typing error, and the DNS records.",
    },
    de: {
      what: "{host} gibt es nicht: DNS kennt keinen solchen Namen.",
      next: "Prüfen Sie die Adresse auf Tippfehler, und die DNS-Einträge.",
    },
  },
  head_too_large: {
    en: {
      what: "The answer of {host} has more than 128 headers, more than 16 KiB of them, or more than 8 interim answers (1xx) before it.",
      next: "Send fewer or shorter response headers, and fewer interim answers (1xx).",
    },
    de: {
      what: "Die Antwort von {host} hat mehr als 128 Header, mehr als 16 KiB davon, oder mehr als 8 Zwischenantworten (1xx) davor.",
      next: "Senden Sie weniger oder kürzere Header, und weniger Zwischenantworten (1xx).",
    },
  },
  invalid_response: {
    en: {
      what: "What {host} answered is no valid HTTP.",
      next: "Check that the port speaks HTTP and that content-length is right.",
    },
    de: {
      what: "Was {host} geantwortet hat, ist kein gültiges HTTP.",
      next: "Prüfen Sie, ob der Port HTTP spricht und content-length stimmt.",
    },
  },
  timeout_body: {
    en: {
      what: "The answer of {host} began but did not end in time.",
      next: "Answer with a short body, at once.",
    },
    de: {
      what: "Die Antwort von {host} begann, endete aber nicht rechtzeitig.",
      next: "Antworten Sie sofort und kurz.",
    },
  },
  timeout_connect: {
    en: {
      what: "No connection to {host} came about in time.",
      next: "Check the address, the port and the firewall.",
    },
    de: {
      what: "Zu {host} kam rechtzeitig keine Verbindung zustande.",
      next: "Prüfen Sie Adresse, Port und Firewall.",
    },
  },
  timeout_response: {
    en: {
      what: "{host} took the request but did not answer in time.",
      next: "Answer first, and work afterwards.",
    },
    de: {
      what: "{host} hat die Anfrage angenommen, aber nicht rechtzeitig geantwortet.",
      next: "Antworten Sie zuerst, und arbeiten Sie danach.",
    },
  },
  timeout_tls: {
    en: {
      what: "The TLS handshake with {host} did not end in time.",
      next: "Check that the port speaks TLS.",
    },
    de: {
      what: "Der TLS-Handshake mit {host} endete nicht rechtzeitig.",
      next: "Prüfen Sie, ob der Port TLS spricht.",
    },
  },
  tls_expired: {
    en: {
      what: "The certificate of {host} has expired, or is not valid yet.",
      next: "Renew it, or correct the receiver's clock, then retry.",
    },
    de: {
      what: "Das Zertifikat von {host} ist abgelaufen oder noch nicht gültig.",
      next: "Erneuern Sie es, oder stellen Sie die Uhr des Empfängers, und versuchen Sie es dann noch einmal.",
    },
  },
  tls_failed: {
    en: {
      what: "The TLS handshake with {host} failed.",
      next: "Check that it speaks TLS 1.2 or 1.3, asks for no client certificate, and sends only the certificates of its chain (16 KB at most).",
    },
    de: {
      what: "Der TLS-Handshake mit {host} ist fehlgeschlagen.",
      next: "Prüfen Sie, ob er TLS 1.2 oder 1.3 spricht, kein Client-Zertifikat verlangt und nur die Zertifikate seiner Kette schickt (höchstens 16 KB).",
    },
  },
  tls_name_mismatch: {
    en: { what: "The certificate of {host} is for another name.", next: "Install one that covers {host}." },
    de: {
      what: "Das Zertifikat von {host} gilt für einen anderen Namen.",
      next: "Installieren Sie eines, das {host} abdeckt.",
    },
  },
  tls_untrusted: {
    en: {
      what: "The certificate of {host} comes from no authority that is trusted.",
      next: "Install one of a public authority, with its intermediate certificates.",
    },
    de: {
      what: "Das Zertifikat von {host} kommt von keiner Stelle, der vertraut wird.",
      next: "Installieren Sie eines von einer öffentlichen Stelle, mit den Zwischenzertifikaten.",
    },
  },
} as const satisfies Readonly<Record<string, CodeRow>>;

/** The message could not be made: `detail` says why. */
const NOT_MADE = {
  body_too_large: {
    en: {
      what: "The message is larger than the destination takes.",
      named: "The message is too large: {reason}",
      next: "Send less with a transformation, then replay.",
    },
    de: {
      what: "Die Nachricht ist größer, als das Ziel sie nimmt.",
      named: "Die Nachricht ist zu groß: {reason}",
      next: "Senden Sie mit einer Umformung weniger, und wiederholen Sie dann.",
    },
  },
  message_refused: {
    en: {
      what: "The destination takes no message of this form.",
      named: "The message could not be made: {reason}",
      next: "Correct the endpoint's settings or its transformations, then replay.",
    },
    de: {
      what: "Das Ziel nimmt keine Nachricht dieser Form.",
      named: "Die Nachricht ließ sich nicht bilden: {reason}",
      next: "Berichtigen Sie den Endpunkt oder seine Umformung, und wiederholen Sie dann.",
    },
  },
  settings_unreadable: {
    en: {
      what: "The settings of the endpoint cannot be read.",
      next: "Save the endpoint again, then replay.",
    },
    de: {
      what: "Die Einstellungen des Endpunkts lassen sich nicht lesen.",
      next: "Speichern Sie den Endpunkt neu, und wiederholen Sie dann.",
    },
  },
  transformation_failed: {
    en: {
      what: "The endpoint's transformations do not fit this event.",
      named: "The message could not be made: {reason}",
      next: "Correct the endpoint's transformations, then replay.",
    },
    de: {
      what: "Die Umformung des Endpunkts passt nicht zu diesem Ereignis.",
      named: "Die Nachricht ließ sich nicht bilden: {reason}",
      next: "Berichtigen Sie die Umformung des Endpunkts, und wiederholen Sie dann.",
    },
  },
} as const satisfies Readonly<Record<string, CodeRow>>;

const ROWS = { ...NO_ANSWER, ...NOT_MADE, ...DESTINATION_ERRORS };

export type NoAnswerCode = keyof typeof NO_ANSWER;
export type AttemptErrorCode = keyof typeof ROWS;

export interface AttemptError {
  code: AttemptErrorCode;
  /** In the words of whoever said no; null where the code says it all. */
  detail: string | null;
}

export const NO_ANSWER_CODES = Object.keys(NO_ANSWER) as NoAnswerCode[];
export const ATTEMPT_ERROR_CODES = Object.keys(ROWS) as AttemptErrorCode[];

/** What is wrong and what to do next, as one sentence: where no host can be named. */
export const ATTEMPT_ERRORS = Object.fromEntries(
  ATTEMPT_ERROR_CODES.map((code) => [code, sentenceOf(ROWS[code].en)]),
) as Readonly<Record<AttemptErrorCode, string>>;

function sentenceOf({ what, named, next }: Words): string {
  const host = (text: string) => text.replaceAll("{host}", "the host");
  const wrong = host(what).replace(/^./, (first) => first.toUpperCase());
  const doing = host(next).replace(/^./, (first) => first.toLowerCase());
  const more = named === undefined ? "" : " `error_detail` says more.";
  return `${wrong.slice(0, -1)}; ${doing}${more}`;
}

/** The portal's texts of every code, under the names by which it looks them up. */
export function explanations(language: Language): ExplanationTexts {
  const texts = ATTEMPT_ERROR_CODES.flatMap((code) =>
    Object.entries(ROWS[code][language]).map(([part, text]) => [`explain.${code}.${part}`, text]),
  );
  return Object.fromEntries(texts) as ExplanationTexts;
}

type ExplanationTexts = Readonly<Record<`explain.${AttemptErrorCode}.${"what" | "next"}`, string>>;
