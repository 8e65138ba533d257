/**
 * The destination answered, and did not take the message: each code that a kind of destination may give, with
 * all its words. What a code means at one kind, the kind says in its own row.
 */

export type Language = "en" | "de";
export type CodeRow = Readonly<Record<Language, Words>>;

/** In one language, a sentence each; `{host}` is whom the attempt went to. */
export interface Words {
  what: string;
  /** Instead of `what` where there is a `detail`, which is `{reason}`. */
  named?: string;
  /** What to do about it. */
  next: string;
}

export const DESTINATION_ERRORS = {
  bucket_not_found: {
    en: {
      what: "There is no such bucket, or these credentials may not see it.",
      next: "Make it, or correct its name.",
    },
    de: {
      what: "Es gibt diesen Bucket nicht, oder diese Zugangsdaten dürfen ihn nicht sehen.",
      next: "Legen Sie ihn an, oder berichtigen Sie den Namen.",
    },
  },
  credentials_refused: {
    en: {
      what: "{host} does not know these credentials.",
      next: "Enter the right ones in the endpoint's settings, then retry.",
    },
    de: {
      what: "{host} kennt diese Zugangsdaten nicht.",
      next: "Tragen Sie beim Endpunkt die richtigen ein, und versuchen Sie es dann erneut.",
    },
  },
  entity_not_found: {
    en: { what: "There is no such queue or topic.", next: "Make it, or correct its name." },
    de: {
      what: "Es gibt diese Warteschlange oder dieses Topic nicht.",
      next: "Legen Sie es an, oder berichtigen Sie den Namen.",
    },
  },
  exchange_internal: {
    en: { what: "The exchange is internal: nobody may publish to it.", next: "Use another exchange." },
    de: { what: "Der Exchange ist intern: Niemand darf an ihn senden.", next: "Nehmen Sie einen anderen." },
  },
  exchange_not_found: {
    en: { what: "There is no exchange of this name.", next: "Make it, or correct its name." },
    de: {
      what: "Es gibt keinen Exchange dieses Namens.",
      next: "Legen Sie ihn an, oder berichtigen Sie den Namen.",
    },
  },
  management_tag_missing: {
    en: { what: "The user lacks the tag management.", next: "Add it to the user, then retry." },
    de: {
      what: "Dem Benutzer fehlt das Kennzeichen management.",
      next: "Geben Sie es ihm, und versuchen Sie es dann erneut.",
    },
  },
  message_too_large: {
    en: {
      what: "The message is larger than the destination takes.",
      next: "Send less with a transformation, then replay.",
    },
    de: {
      what: "Die Nachricht ist größer, als das Ziel sie nimmt.",
      next: "Senden Sie mit einer Umformung weniger, und senden Sie dann erneut.",
    },
  },
  namespace_not_found: {
    en: { what: "There is no such tenant or namespace.", next: "Make it, or correct its name." },
    de: {
      what: "Es gibt diesen Mandanten oder Namensraum nicht.",
      next: "Legen Sie ihn an, oder berichtigen Sie den Namen.",
    },
  },
  offset_missing: {
    en: {
      what: "The proxy did not wait for the broker: no offset came back.",
      next: "Set its acks to 1 or all.",
    },
    de: {
      what: "Der Proxy hat nicht auf den Broker gewartet: Es kam kein Offset zurück.",
      next: "Stellen Sie acks auf 1 oder all.",
    },
  },
  other_broker: {
    en: { what: "Another broker owns this topic.", next: "Use the address of the proxy in front of them." },
    de: {
      what: "Dieses Topic gehört einem anderen Broker.",
      next: "Nehmen Sie die Adresse des Proxys vor ihnen.",
    },
  },
  permission_missing: {
    en: {
      what: "These credentials may not write there.",
      named: "These credentials lack a permission: {reason}",
      next: "Grant them the permission to write, then retry.",
    },
    de: {
      what: "Diese Zugangsdaten dürfen dort nicht schreiben.",
      named: "Diesen Zugangsdaten fehlt ein Recht: {reason}",
      next: "Erteilen Sie ihnen das Recht zu schreiben, und versuchen Sie es dann erneut.",
    },
  },
  queue_disabled: {
    en: { what: "The queue is disabled.", next: "Enable it, then retry." },
    de: {
      what: "Die Warteschlange ist abgeschaltet.",
      next: "Schalten Sie sie ein, und versuchen Sie es dann erneut.",
    },
  },
  queue_full: {
    en: { what: "The queue is full.", next: "Let its consumers catch up; sending slows down by itself." },
    de: {
      what: "Die Warteschlange ist voll.",
      next: "Lassen Sie ihre Abnehmer aufholen; gesendet wird von selbst langsamer.",
    },
  },
  queue_not_found: {
    en: { what: "There is no such queue.", next: "Make it, or correct its name." },
    de: {
      what: "Es gibt diese Warteschlange nicht.",
      next: "Legen Sie sie an, oder berichtigen Sie den Namen.",
    },
  },
  quota_exceeded: {
    en: {
      what: "A quota of the destination is used up.",
      next: "Raise it, or make room; sending slows down by itself.",
    },
    de: {
      what: "Ein Kontingent des Ziels ist verbraucht.",
      next: "Erhöhen Sie es, oder schaffen Sie Platz; gesendet wird von selbst langsamer.",
    },
  },
  record_refused: {
    en: {
      what: "The proxy does not take a record of this form.",
      next: "If it knows no record headers, turn off sending them in the endpoint's settings.",
    },
    de: {
      what: "Der Proxy nimmt keinen Datensatz dieser Form.",
      next: "Kennt er keine Kopfzeilen, so schalten Sie beim Endpunkt ab, dass sie gesendet werden.",
    },
  },
  refused: {
    en: {
      what: "{host} did not take the message.",
      named: "{host} did not take the message: {reason}",
      next: "Its answer and its documentation may say more.",
    },
    de: {
      what: "{host} hat die Nachricht nicht genommen.",
      named: "{host} hat die Nachricht nicht genommen: {reason}",
      next: "Die Antwort und die Dokumentation des Ziels sagen vielleicht mehr.",
    },
  },
  role_refused: {
    en: {
      what: "The role could not be assumed.",
      named: "The role could not be assumed: {reason}",
      next: "Check the role's trust policy and its external id.",
    },
    de: {
      what: "Die Rolle ließ sich nicht annehmen.",
      named: "Die Rolle ließ sich nicht annehmen: {reason}",
      next: "Prüfen Sie die Vertrauensrichtlinie der Rolle und ihre externe Kennung.",
    },
  },
  schema_refused: {
    en: {
      what: "The topic has a schema that these events do not fit.",
      next: "Use a topic without one, or shape the events with a transformation.",
    },
    de: {
      what: "Das Topic hat ein Schema, zu dem diese Ereignisse nicht passen.",
      next: "Nehmen Sie ein Topic ohne Schema, oder ändern Sie die Ereignisse mit einer Umformung.",
    },
  },
  send_claim_missing: {
    en: { what: "The access policy lacks the claim Send.", next: "Use a policy that has it." },
    de: {
      what: "Der Zugriffsrichtlinie fehlt das Recht Send.",
      next: "Nehmen Sie eine Richtlinie, die es hat.",
    },
  },
  signature_refused: {
    en: {
      what: "{host} refused the signature: key or key name are wrong, or the token has expired.",
      next: "Enter a valid key in the endpoint's settings, then retry.",
    },
    de: {
      what: "{host} hat die Signatur abgelehnt: Schlüssel oder Schlüsselname sind falsch, oder das Token ist abgelaufen.",
      next: "Tragen Sie beim Endpunkt einen gültigen Schlüssel ein, und versuchen Sie es dann erneut.",
    },
  },
  token_refused: {
    en: {
      what: "{host} refused the access token.",
      next: "Nothing to do at first: the next attempt asks for a new one.",
    },
    de: {
      what: "{host} hat das Zugriffstoken abgelehnt.",
      next: "Vorerst nichts zu tun: Der nächste Versuch holt ein neues.",
    },
  },
  token_unavailable: {
    en: {
      what: "No access token could be had.",
      named: "No access token could be had: {reason}",
      next: "Check the service account's key, and that it is not revoked.",
    },
    de: {
      what: "Es war kein Zugriffstoken zu bekommen.",
      named: "Es war kein Zugriffstoken zu bekommen: {reason}",
      next: "Prüfen Sie den Schlüssel des Dienstkontos, und dass er nicht widerrufen ist.",
    },
  },
  topic_not_found: {
    en: {
      what: "There is no such topic, or these credentials may not see it.",
      next: "Make it, or correct its name.",
    },
    de: {
      what: "Es gibt dieses Topic nicht, oder diese Zugangsdaten dürfen es nicht sehen.",
      next: "Legen Sie es an, oder berichtigen Sie den Namen.",
    },
  },
  unexpected_answer: {
    en: {
      what: "{host} answered with a status of success, but not as this kind of destination does.",
      next: "Check that the address is the right one.",
    },
    de: {
      what: "{host} hat mit einem Erfolgsstatus geantwortet, aber nicht so, wie diese Art von Ziel es tut.",
      next: "Prüfen Sie, ob die Adresse die richtige ist.",
    },
  },
  unroutable: {
    en: { what: "No queue takes this routing key.", next: "Bind a queue to it, then retry." },
    de: {
      what: "Keine Warteschlange nimmt diesen Routing-Schlüssel.",
      next: "Binden Sie eine daran, und versuchen Sie es dann erneut.",
    },
  },
  vhost_refused: {
    en: {
      what: "The virtual host does not exist, or the user may not enter it.",
      next: "Check its name and the user's permissions.",
    },
    de: {
      what: "Den virtuellen Host gibt es nicht, oder der Benutzer darf nicht hinein.",
      next: "Prüfen Sie seinen Namen und die Rechte des Benutzers.",
    },
  },
  write_permission_missing: {
    en: { what: "The user lacks write permission on the exchange.", next: "Grant it, then retry." },
    de: {
      what: "Dem Benutzer fehlt das Schreibrecht am Exchange.",
      next: "Erteilen Sie es, und versuchen Sie es dann erneut.",
    },
  },
} as const satisfies Readonly<Record<string, CodeRow>>;
