/**
 * The fields of destinations and providers in German, by their English words in GET /v1/destination-kinds and
 * GET /v1/providers. A help of several sentences may stand here sentence by sentence; what a provider calls
 * its own menus stays as its pages show it.
 */
export const fields: Readonly<Record<string, string>> = {
  // Kinds of destinations.
  "HTTP URL": "HTTP-Adresse",
  "Amazon S3 and compatible stores": "Amazon S3 und kompatible Speicher",
  Polling: "Abholung (Polling)",

  // Their fields.
  URL: "URL",
  "Where deliveries are posted to. It must resolve to public addresses only.":
    "Wohin Zustellungen gesendet werden. Sie muss zu öffentlichen Adressen führen.",
  "Queue URL": "URL der Warteschlange",
  "As in https://sqs.eu-central-1.amazonaws.com/123456789012/orders.":
    "Wie https://sqs.eu-central-1.amazonaws.com/123456789012/orders.",
  "Message group": "Nachrichtengruppe",
  "Messages of one group keep their order. Of FIFO: the endpoint's id unless given.":
    "Nachrichten einer Gruppe behalten ihre Reihenfolge. Bei FIFO: die Id des Endpunkts, wenn nichts angegeben ist.",
  Region: "Region",
  "The AWS region, as in eu-central-1.": "Die AWS-Region, wie eu-central-1.",
  "Access key ID": "Zugriffsschlüssel-ID",
  "Of an IAM user, or of credentials for a time.": "Eines IAM-Benutzers, oder befristeter Zugangsdaten.",
  "Secret access key": "Geheimer Zugriffsschlüssel",
  "Belongs to the access key ID.": "Gehört zur Zugriffsschlüssel-ID.",
  "Session token": "Sitzungs-Token",
  "Only with credentials for a time. Such a destination fails as soon as they expire: a role lasts.":
    "Nur bei befristeten Zugangsdaten. Sind sie abgelaufen, scheitert das Ziel: Eine Rolle hält.",
  "Role to assume": "Anzunehmende Rolle",
  "The ARN of a role that the access key may assume; then the role is what sends.":
    "Die ARN einer Rolle, die der Zugriffsschlüssel annehmen darf; gesendet wird dann mit der Rolle.",
  "External ID": "Externe ID",
  "What the trust policy of the role asks for.": "Was die Vertrauensrichtlinie der Rolle verlangt.",
  Endpoint: "Endpunkt",
  "The server of the queue's URL is called unless this is given. Give it for a compatible server, or a VPC endpoint.":
    "Ohne Angabe wird der Server aus der URL der Warteschlange gerufen. Für kompatible Server oder einen VPC-Endpunkt.",
  "The service's own address in the region is called unless this is given. Give it for a compatible server, or a VPC endpoint.":
    "Ohne Angabe wird die Adresse des Dienstes in der Region gerufen. Für kompatible Server oder einen VPC-Endpunkt.",
  "AWS is called unless this is given, as for MinIO or Cloudflare R2. Give it for a compatible server, or a VPC endpoint.":
    "Ohne Angabe wird AWS gerufen. Für kompatible Server wie MinIO oder Cloudflare R2, oder einen VPC-Endpunkt.",
  "STS endpoint": "STS-Endpunkt",
  "Where the role is assumed: AWS itself unless given, or where a compatible server has its endpoint.":
    "Wo die Rolle angenommen wird: ohne Angabe bei AWS selbst, oder wo ein kompatibler Server seinen Endpunkt hat.",
  "Topic ARN": "ARN des Themas",
  "As in arn:aws:sns:eu-central-1:123456789012:orders.": "Wie arn:aws:sns:eu-central-1:123456789012:orders.",
  "Event bus": "Ereignisbus",
  "Its name, such as default, or its ARN.": "Sein Name, wie default, oder seine ARN.",
  Source: "Quelle",
  "What rules see as the event's source; sealpost unless given.":
    "Was Regeln als Quelle des Ereignisses sehen; ohne Angabe sealpost.",
  "Detail type": "Detailtyp",
  "The event's type unless given.": "Ohne Angabe der Typ des Ereignisses.",
  Stream: "Datenstrom",
  "The name of the data stream.": "Der Name des Datenstroms.",
  "Partition key": "Partitionsschlüssel",
  "One for all messages, which keeps them in one shard and in order; the webhook-id unless given.":
    "Einer für alle Nachrichten hält sie in einem Shard und in der Reihenfolge; ohne Angabe die webhook-id.",
  Bucket: "Bucket",
  "The name of the bucket.": "Der Name des Buckets.",
  Prefix: "Präfix",
  "Stands before every key, with a slash between, as in webhooks/.":
    "Steht vor jedem Schlüssel, mit einem Schrägstrich dazwischen, wie webhooks/.",
  "Key template": "Muster des Schlüssels",
  "What follows the prefix; {date}/{hour}/{id}.json unless given. Knows {date}, {hour}, {type}, {endpoint_id} and {id}, and must hold {id}.":
    "Was auf das Präfix folgt; ohne Angabe {date}/{hour}/{id}.json. Kennt {date}, {hour}, {type}, {endpoint_id} und {id}; {id} muss vorkommen.",
  "Project ID": "Projekt-ID",
  "The topic's project.": "Das Projekt des Themas.",
  Topic: "Thema",
  "Its name, without projects/…/topics/.": "Sein Name, ohne projects/…/topics/.",
  "Service account key": "Schlüssel des Dienstkontos",
  "The whole JSON key file of a service account with the role Pub/Sub Publisher.":
    "Die ganze JSON-Schlüsseldatei eines Dienstkontos mit der Rolle Pub/Sub Publisher.",
  "The whole JSON key file of a service account with the role Storage Object User.":
    "Die ganze JSON-Schlüsseldatei eines Dienstkontos mit der Rolle Storage Object User.",
  Address: "Adresse",
  "https://pubsub.googleapis.com unless given; for a regional endpoint or a compatible server.":
    "Ohne Angabe https://pubsub.googleapis.com; für einen regionalen Endpunkt oder einen kompatiblen Server.",
  "https://storage.googleapis.com unless given; for a compatible server.":
    "Ohne Angabe https://storage.googleapis.com; für einen kompatiblen Server.",
  "Its name.": "Der Name.",
  "Connection string": "Verbindungszeichenfolge",
  "Of a policy with the claim Send: Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=….":
    "Einer Richtlinie mit dem Recht Send: Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=….",
  "Queue or topic": "Warteschlange oder Thema",
  "Of the storage account: …AccountName=…;AccountKey=…, or QueueEndpoint=…;SharedAccessSignature=….":
    "Des Speicherkontos: …AccountName=…;AccountKey=…, oder QueueEndpoint=…;SharedAccessSignature=….",
  Queue: "Warteschlange",
  "Management URL": "Management-URL",
  "Where the management plugin listens, as in https://rabbitmq.example.com:15671.":
    "Wo das Management-Plugin lauscht, wie https://rabbitmq.example.com:15671.",
  "Virtual host": "Virtueller Host",
  "Often /.": "Oft /.",
  Exchange: "Exchange",
  "Its name; amq.default for the default exchange, which routes to the queue that the routing key names.":
    "Sein Name; amq.default für den vorgegebenen, der zur Warteschlange führt, die der Routing-Schlüssel nennt.",
  "Routing key": "Routing-Schlüssel",
  "User name": "Benutzername",
  "A user with the tag management and write permission on the exchange.":
    "Ein Benutzer mit dem Tag management und Schreibrecht auf dem Exchange.",
  Password: "Passwort",
  "Of this user.": "Dieses Benutzers.",
  "Proxy URL": "URL des Proxys",
  "Where the REST proxy listens, as in https://kafka-rest.example.com:8082.":
    "Wo der REST-Proxy lauscht, wie https://kafka-rest.example.com:8082.",
  "Record key": "Schlüssel des Datensatzes",
  "The webhook-id unless given. Records with one key stay in order, in one partition.":
    "Ohne Angabe die webhook-id. Datensätze mit einem Schlüssel bleiben in der Reihenfolge, in einer Partition.",
  "For proxies that ask for basic authentication.": "Für Proxys, die Basic-Authentifizierung verlangen.",
  "Send record headers": "Header mitsenden",
  "True unless given. Set to false for proxies that refuse record headers, such as Karapace.":
    "Ohne Angabe ja. Abschalten für Proxys, die Header an Datensätzen ablehnen, wie Karapace.",
  "Console URL": "URL der Konsole",
  "Where the web console listens, as in https://activemq.example.com:8162.":
    "Wo die Web-Konsole lauscht, wie https://activemq.example.com:8162.",
  Destination: "Ziel",
  "The name of a queue, or queue://NAME, or topic://NAME.":
    "Der Name einer Warteschlange, oder queue://NAME, oder topic://NAME.",
  "A user of the web console.": "Ein Benutzer der Web-Konsole.",
  "Web service URL": "URL des Web-Dienstes",
  "Of the broker or the Pulsar proxy, as in https://pulsar.example.com:8443.":
    "Des Brokers oder des Pulsar-Proxys, wie https://pulsar.example.com:8443.",
  "persistent://TENANT/NAMESPACE/TOPIC; a bare name is one in public/default.":
    "persistent://TENANT/NAMESPACE/TOPIC; ein bloßer Name liegt in public/default.",
  "Message key": "Schlüssel der Nachricht",
  "The webhook-id unless given.": "Ohne Angabe die webhook-id.",
  Token: "Token",
  "A JSON Web Token of a role that may produce, where the cluster asks for one.":
    "Ein JSON Web Token einer Rolle, die senden darf, wenn der Cluster eines verlangt.",
  "Account ID": "Konto-ID",
  "32 hexadecimal digits, shown in the dashboard.": "32 hexadezimale Ziffern, im Dashboard gezeigt.",
  "Queue ID": "ID der Warteschlange",
  "32 hexadecimal digits: not the queue's name.":
    "32 hexadezimale Ziffern: nicht der Name der Warteschlange.",
  "API token": "API-Token",
  "With the permission Queues Edit.": "Mit der Berechtigung Queues Edit.",
  "API address": "API-Adresse",
  "https://api.cloudflare.com unless given.": "Ohne Angabe https://api.cloudflare.com.",

  // How what a provider shows is entered.
  "Paste it exactly as it is shown.": "Fügen Sie es genau so ein, wie es gezeigt wird.",
  "Paste it with its prefix whsec_ where it has one.": "Mit dem Präfix whsec_ einfügen, wenn es eines hat.",
  "For v1a: the public key with its prefix whpk_.":
    "Für v1a: der öffentliche Schlüssel mit dem Präfix whpk_.",
  "The Ed25519 public key in base64, with its prefix whpk_.":
    "Der öffentliche Ed25519-Schlüssel in Base64, mit dem Präfix whpk_.",
  "The Ed25519 public key in base64.": "Der öffentliche Ed25519-Schlüssel in Base64.",
  "The Ed25519 public key in hex.": "Der öffentliche Ed25519-Schlüssel in hexadezimalen Ziffern.",
  "The public key, as PEM or as the base64 text that the provider shows.":
    "Der öffentliche Schlüssel, als PEM oder als der Base64-Text, den der Anbieter zeigt.",
  "Hexadecimal digits, as shown.": "Hexadezimale Ziffern, wie gezeigt.",
  "Base64 text, as shown.": "Base64-Text, wie gezeigt.",
  "user:password, as entered at the provider.": "benutzer:passwort, wie beim Anbieter eingetragen.",
  "1 to 256 characters A-Z a-z 0-9 _ -.": "1 bis 256 Zeichen aus A-Z a-z 0-9 _ -.",

  // Labels of providers' fields.
  "Signing secret": "Signaturgeheimnis",
  "User and password": "Benutzer und Passwort",
  "Tolerance in seconds": "Toleranz in Sekunden",
  "Public key": "Öffentlicher Schlüssel",
  "App client secret": "Client-Geheimnis der App",
  "Signing token": "Signatur-Token",
  "API secret key": "Geheimer API-Schlüssel",
  "Webhook shared secret": "Gemeinsames Webhook-Geheimnis",
  "Webhook key": "Webhook-Schlüssel",
  "Client secret": "Client-Geheimnis",
  "Secret token": "Geheimes Token",
  "Webhook secret": "Webhook-Geheimnis",
  macSecretBase64: "macSecretBase64",
  "Webhook token": "Webhook-Token",
  "HMAC key": "HMAC-Schlüssel",
  "Secret hash": "Geheimer Hash",
  "Webhooks key": "Webhooks-Schlüssel",
  "Verifier token": "Prüf-Token",
  "Channel secret": "Geheimnis des Kanals",
  "Connect key": "Connect-Schlüssel",
  "App secret": "Geheimnis der App",
  "Verify token": "Bestätigungs-Token",
  "Consumer secret": "Consumer-Geheimnis",
  "Secret key": "Geheimer Schlüssel",
  "Webhook signing key": "Signaturschlüssel der Webhooks",
  "API key": "API-Schlüssel",
  "Shared secret": "Gemeinsames Geheimnis",
  "Client secret or webhook secret key": "Client-Geheimnis oder geheimer Schlüssel des Webhooks",
  "Signature key": "Signaturschlüssel",
  "Public address": "Öffentliche Adresse",
  "API secret": "API-Geheimnis",
  "Verification key": "Prüfschlüssel",
  "JWS secret token": "Geheimes JWS-Token",
  "Current signing key": "Aktueller Signaturschlüssel",
  "Next signing key": "Nächster Signaturschlüssel",
  "Signature secret": "Signaturgeheimnis",
  "Service account": "Dienstkonto",
  Audience: "Audience",
  "User name and password": "Benutzername und Passwort",
  "Authorization token": "Autorisierungs-Token",
  "Authentication secret": "Authentifizierungs-Geheimnis",
  "Signature header": "Header der Signatur",
  Algorithm: "Algorithmus",
  Encoding: "Kodierung",
  "Signed content": "Signierter Inhalt",
  "Timestamp header": "Header des Zeitstempels",
  "Timestamp unit": "Einheit des Zeitstempels",
  "Id header": "Header der Id",
  "Id path": "Pfad der Id",
  "Type header": "Header des Typs",
  "Type path": "Pfad des Typs",
  "Delivery header value": "Wert des Zustell-Headers",
  "Delivery header": "Zustell-Header",
  "Primary key": "Primärschlüssel",
  "Private key": "Privater Schlüssel",
  "Subscription secret": "Geheimnis des Abonnements",
  "User id": "Benutzer-Id",
  "Workspace id": "Workspace-Id",
  "HTTP webhook signing key": "Signaturschlüssel der HTTP-Webhooks",
  "Secret signature": "Geheime Signatur",
  clientState: "clientState",
  "Webhook ID": "Webhook-ID",
  "Client id": "Client-Id",
  Environment: "Umgebung",
  "Auth Token": "Auth-Token",
  "App key": "App-Schlüssel",
  "Authorization header value": "Wert des Headers Authorization",

  // Where they are found.
  "Send the source's secret in the header x-service-token, or as Authorization: Bearer.":
    "Senden Sie das Geheimnis der Quelle im Header x-service-token, oder als Authorization: Bearer.",
  "Choose a user and a password, enter them in the sending service, and here as user:password.":
    "Wählen Sie Benutzer und Passwort, tragen Sie beides beim sendenden Dienst ein, und hier als benutzer:passwort.",
  "Give the sender the source's whsec_ secret, or enter the one that it shows; for v1a its whpk_ public key.":
    "Geben Sie dem Sender das whsec_-Geheimnis der Quelle, oder tragen Sie seines ein; für v1a seinen öffentlichen whpk_-Schlüssel.",
  "How far the signed timestamp may lie from now; narrows the provider's own window, never widens it.":
    "Wie weit der signierte Zeitstempel von jetzt abweichen darf; verengt das Fenster des Anbieters, weitet es nie.",
  "Enter the public key (whpk_…) that the sender publishes.":
    "Tragen Sie den öffentlichen Schlüssel (whpk_…) ein, den der Sender veröffentlicht.",
  "On the endpoint's page in that portal, Signing Secret.":
    "Auf der Seite des Endpunkts in jenem Portal: Signing Secret.",
  "The endpoint's page in the Clerk Dashboard, Signing Secret.":
    "Auf der Seite des Endpunkts im Clerk Dashboard: Signing Secret.",
  "The endpoint's page in the Stytch Dashboard, Signing Secret.":
    "Auf der Seite des Endpunkts im Stytch Dashboard: Signing Secret.",
  "Shown once, when the webhook is created or its secret is rotated: signing_secret in the API's answer.":
    "Einmal gezeigt, wenn der Webhook angelegt oder sein Geheimnis erneuert wird: signing_secret in der Antwort der API.",
  "GET https://api.replicate.com/v1/webhooks/default/secret with your API token.":
    "GET https://api.replicate.com/v1/webhooks/default/secret mit Ihrem API-Token.",
  "Dodo Payments Dashboard: Settings, Webhooks, the webhook's Secret Key.":
    "Dodo Payments Dashboard: Settings, Webhooks, beim Webhook: Secret Key.",
  "The endpoint's page in the Liveblocks dashboard, Signing secret.":
    "Auf der Seite des Endpunkts im Liveblocks-Dashboard: Signing secret.",
  "GET /v1/event_subscriptions/{token}/secret of the Lithic API.":
    "GET /v1/event_subscriptions/{token}/secret der Lithic-API.",
  "The webhook's page in the Render Dashboard, Signing Secret.":
    "Auf der Seite des Webhooks im Render Dashboard: Signing Secret.",
  "GET /v1/webhooks/secrets of the Brex API.": "GET /v1/webhooks/secrets der Brex-API.",
  "The endpoint's form in Polar's Settings, Secret.": "Im Formular des Endpunkts in Polars Settings: Secret.",
  "BigCommerce Developer Portal: My Apps, the app, View Client ID: the client secret.":
    "BigCommerce Developer Portal: My Apps, die App, View Client ID: das client secret.",
  "The same form, Secret: choose it there, or paste the source's.":
    "Im selben Formular, Secret: dort wählen, oder das der Quelle einfügen.",
  "Paystack Dashboard: Settings, API Keys & Webhooks, Secret Key (sk_…).":
    "Paystack Dashboard: Settings, API Keys & Webhooks, Secret Key (sk_…).",
  "Modern Treasury: Developers, Webhooks, the endpoint's Webhook Key.":
    "Modern Treasury: Developers, Webhooks, beim Endpunkt: Webhook Key.",
  "Jira's webhook form, Secret: paste the source's, or generate one there.":
    "Im Webhook-Formular von Jira, Secret: das der Quelle einfügen, oder dort eines erzeugen.",
  "CircleCI's webhook form, Secret token: paste the source's.":
    "Im Webhook-Formular von CircleCI, Secret token: das der Quelle einfügen.",
  "Cal.com's webhook form, Secret: paste the source's.":
    "Im Webhook-Formular von Cal.com, Secret: das der Quelle einfügen.",
  "The same page, Security, HMAC key, Generate.": "Auf derselben Seite: Security, HMAC key, Generate.",
  "The dashboard's (v4) webhook page, Secret hash: type the source's secret.":
    "Auf der Webhook-Seite des Dashboards (v4), Secret hash: das Geheimnis der Quelle eintippen.",
  "The same page, Webhooks key.": "Auf derselben Seite: Webhooks key.",
  "DocuSign Admin: Integrations, Connect, Connect Keys, Add Secret Key.":
    "DocuSign Admin: Integrations, Connect, Connect Keys, Add Secret Key.",
  "Field transport.secret of that call: send the source's secret.":
    "Feld transport.secret jenes Aufrufs: das Geheimnis der Quelle senden.",
  "A text of your choice; enter the same one in the App Dashboard.":
    "Ein Text Ihrer Wahl; denselben tragen Sie im App Dashboard ein.",
  "X Developer Console: the app, Keys and tokens, the API key's secret (the consumer secret).":
    "X Developer Console: die App, Keys and tokens, das Geheimnis des API-Schlüssels (consumer secret).",
  "Dropbox App Console: the app, its app secret.": "Dropbox App Console: die App, ihr App secret.",
  "The same form, Secret: paste the source's.": "Im selben Formular, Secret: das der Quelle einfügen.",
  "Intercom Developer Hub: the app, Basic information, Client secret.":
    "Intercom Developer Hub: die App, Basic information, Client secret.",
  "The endpoint's page in Recurly, HMAC secret key.":
    "Auf der Seite des Endpunkts in Recurly: HMAC secret key.",
  "Cashfree Merchant Dashboard: Developers, API Keys, the client secret of the newest key.":
    "Cashfree Merchant Dashboard: Developers, API Keys, das client secret des neuesten Schlüssels.",
  "The endpoint's page in Orb, Signing secret.": "Auf der Seite des Endpunkts in Orb: Signing secret.",
  "signing_secret in the answer of that call (wsk_…).":
    "signing_secret in der Antwort jenes Aufrufs (wsk_…).",
  "Field signing_key of that call: send the source's secret.":
    "Feld signing_key jenes Aufrufs: das Geheimnis der Quelle senden.",
  "The webhook's page in the Persona Dashboard, Webhook secret (wbhsec_…).":
    "Auf der Seite des Webhooks im Persona Dashboard: Webhook secret (wbhsec_…).",
  "The same form, Advanced settings, Secret: paste the source's.":
    "Im selben Formular, Advanced settings, Secret: das der Quelle einfügen.",
  "The same page, the webhook's signing secret; or signing_secret in the answer of that call.":
    "Auf derselben Seite das signing secret des Webhooks; oder signing_secret in der Antwort jenes Aufrufs.",
  "Retell dashboard: Settings, API Keys, the key with the webhook badge.":
    "Retell-Dashboard: Settings, API Keys, der Schlüssel mit der Marke webhook.",
  "Shown when the webhook is saved there.": "Gezeigt, wenn der Webhook dort gespeichert wird.",
  "The field signing_secret of that webhook.": "Das Feld signing_secret dieses Webhooks.",
  "The same page of the reporting webhook, Webhook Signing Key.":
    "Auf derselben Seite des Reporting-Webhooks: Webhook Signing Key.",
  "The subscription's Endpoint Details there, Signature Key, Show.":
    "Dort in den Endpoint Details des Abonnements: Signature Key, Show.",
  "The address as it was entered at the provider, character for character, where it differs from the source's own (a proxy).":
    "Die Adresse, wie sie beim Anbieter eingetragen ist, Zeichen für Zeichen, wenn sie von der eigenen der Quelle abweicht (ein Proxy).",
  "trello.com/power-ups/admin: the Power-Up, API Key: the secret beside the key.":
    "trello.com/power-ups/admin: das Power-Up, API Key: das Secret neben dem Schlüssel.",
  "HubSpot developer account: Apps, the app, Auth, Client secret.":
    "HubSpot-Entwicklerkonto: Apps, die App, Auth, Client secret.",
  "HubSpot developer account: Apps, the app's Auth tab, Client secret; the same as for its webhooks.":
    "HubSpot-Entwicklerkonto: Apps, in der App der Reiter Auth, Client secret; dasselbe wie für ihre Webhooks.",
  "Discord Developer Portal: the application, General Information, Public Key.":
    "Discord Developer Portal: die Anwendung, General Information, Public Key.",
  "The same form, JWS secret token: paste the source's.":
    "Im selben Formular, JWS secret token: das der Quelle einfügen.",
  "Upstash Console: QStash, the current signing key (sig_…).":
    "Upstash Console: QStash, der aktuelle Signaturschlüssel (sig_…).",
  "Upstash Console: QStash, Signing Keys, Next Signing Key.":
    "Upstash Console: QStash, Signing Keys, Next Signing Key.",
  "LiveKit Cloud: Settings, API keys, the key (API…).":
    "LiveKit Cloud: Settings, API keys, der Schlüssel (API…).",
  "Vonage API Dashboard: API Settings. Where it is entered, only this account is accepted.":
    "Vonage API Dashboard: API Settings. Ist er eingetragen, wird nur dieses Konto angenommen.",
  "The service account of the push subscription's authentication.":
    "Das Dienstkonto aus der Authentifizierung des Push-Abonnements.",
  "The subscription's audience; left out, the source's address.":
    "Die Audience des Abonnements; ohne Angabe die Adresse der Quelle.",
  "The same form, Secret token: paste the source's.":
    "Im selben Formular, Secret token: das der Quelle einfügen.",
  "The same page, Secret hash: type the source's secret.":
    "Auf derselben Seite, Secret hash: das Geheimnis der Quelle eintippen.",
  "Parameter secret_token of setWebhook: send the source's secret.":
    "Parameter secret_token von setWebhook: das Geheimnis der Quelle senden.",
  "The same form, Authorization Token: paste the source's secret, without Bearer.":
    "Im selben Formular, Authorization Token: das Geheimnis der Quelle einfügen, ohne Bearer.",
  "The same form, Authentication field: Authorization; Authentication secret: paste the source's.":
    "Im selben Formular, Authentication field: Authorization; Authentication secret: das der Quelle einfügen.",
  "Give it the source's secret, or enter the one that it shows; describe its scheme in config.":
    "Geben Sie ihm das Geheimnis der Quelle, oder tragen Sie seines ein; sein Verfahren beschreiben Sie in den Feldern.",
  "The header that carries the signature.": "Der Header, der die Signatur trägt.",
  "The hash of the HMAC.": "Das Hash-Verfahren des HMAC.",
  "How the signature is written.": "Wie die Signatur geschrieben ist.",
  "What stands before the signature, for example sha256=.": "Was vor der Signatur steht, etwa sha256=.",
  "A template of {body}, {timestamp}, {id}, {url}; default {body}.":
    "Ein Muster aus {body}, {timestamp}, {id}, {url}; ohne Angabe {body}.",
  "The header of {timestamp}.": "Der Header von {timestamp}.",
  "Seconds or milliseconds; default s.": "Sekunden oder Millisekunden; ohne Angabe s.",
  "The header that identifies a delivery.": "Der Header, der eine Zustellung kennzeichnet.",
  "Where the body identifies a delivery.": "Wo der Inhalt eine Zustellung kennzeichnet.",
  "The header that names the event's type.": "Der Header, der den Typ des Ereignisses nennt.",
  "Where the body names the event's type.": "Wo der Inhalt den Typ des Ereignisses nennt.",
  "The topic that is subscribed (arn:aws:sns:…).": "Das abonnierte Thema (arn:aws:sns:…).",
  "The same form, tab Delivery Properties: a static header, Is secret? checked, whose value is the source's secret.":
    "Im selben Formular, Reiter Delivery Properties: ein statischer Header mit Häkchen bei Is secret?, dessen Wert das Geheimnis der Quelle ist.",
  "The name of the header that you define in delivery properties.":
    "Der Name des Headers, den Sie in Delivery Properties festlegen.",
  "Box Developer Console: the app, Webhooks, Manage signature keys, Generate Key.":
    "Box Developer Console: die App, Webhooks, Manage signature keys, Generate Key.",
  "Braintree Control Panel: the gear, API, API Keys, Public Key.":
    "Braintree Control Panel: das Zahnrad, API, API Keys, Public Key.",
  "Braintree Control Panel: the gear, API, API Keys, Private Key, View.":
    "Braintree Control Panel: das Zahnrad, API, API Keys, Private Key, View.",
  "Cloudinary Console: Settings, API Keys, API Secret.":
    "Cloudinary Console: Settings, API Keys, API Secret.",
  "Dropbox Sign: Settings, API, API keys: the key of the account or of the app's owner.":
    "Dropbox Sign: Settings, API, API keys: der Schlüssel des Kontos oder des Besitzers der App.",
  "Your fal user id: without it every fal customer can call this source.":
    "Ihre Benutzer-Id bei fal: Ohne sie kann jeder Kunde von fal diese Quelle rufen.",
  "Where your workspace is: us (default), eu, eu2 or sandbox.":
    "Wo Ihr Workspace liegt: us (ohne Angabe), eu, eu2 oder sandbox.",
  "Your workspace: without it every Fireblocks customer can call this source.":
    "Ihr Workspace: Ohne ihn kann jeder Kunde von Fireblocks diese Quelle rufen.",
  "The same page, field Secret: paste the source's secret there, or enter here the one you have there.":
    "Auf derselben Seite, Feld Secret: dort das Geheimnis der Quelle einfügen, oder hier das eintragen, das dort steht.",
  "The same page, Secret signature.": "Auf derselben Seite: Secret signature.",
  "Field clientState of that call: send the source's secret.":
    "Feld clientState jenes Aufrufs: das Geheimnis der Quelle senden.",
  "PayPal Developer Dashboard: the app, Webhooks, the column Webhook ID.":
    "PayPal Developer Dashboard: die App, Webhooks, die Spalte Webhook ID.",
  "Plaid Dashboard: Developers, Keys, client_id.": "Plaid Dashboard: Developers, Keys, client_id.",
  "Plaid Dashboard: Developers, Keys, the environment's secret.":
    "Plaid Dashboard: Developers, Keys, das Geheimnis der Umgebung.",
  "production or sandbox.": "production oder sandbox.",
  "Pusher dashboard: the app, App Keys, secret.": "Pusher-Dashboard: die App, App Keys, secret.",
  "Pusher dashboard: the app, App Keys, key.": "Pusher-Dashboard: die App, App Keys, key.",
  "The whole value as typed in RevenueCat, with Bearer if it has it.":
    "Der ganze Wert wie in RevenueCat eingetippt, mit Bearer, wenn er so beginnt.",
  "The destination: Settings, Advanced Settings, shared secret: paste the source's.":
    "Beim Ziel: Settings, Advanced Settings, shared secret: das der Quelle einfügen.",
  "The same app: Basic Information, Signing Secret.": "Dieselbe App: Basic Information, Signing Secret.",
  "Resend dashboard: Webhooks, the webhook once it is made; or signing_secret in the API's answer.":
    "Resend-Dashboard: Webhooks, der Webhook, sobald er angelegt ist; oder signing_secret in der Antwort der API.",
  "Shown once when that endpoint is made, whsec_…; the same page rotates it.":
    "Einmal gezeigt, wenn jener Endpunkt angelegt wird, whsec_…; dieselbe Seite erneuert es.",
  "The same form, Signing token (GitLab 19.0 and later): it begins with whsec_.":
    "Im selben Formular, Signing token (ab GitLab 19.0): Es beginnt mit whsec_.",
  "The same form, signing secret (6 to 40 characters): paste the source's.":
    "Im selben Formular, signing secret (6 bis 40 Zeichen): das der Quelle einfügen.",
  "Field webhook_secret of that call: send the source's secret; a PATCH of the webhook sets it later.":
    "Feld webhook_secret jenes Aufrufs: das Geheimnis der Quelle senden; ein PATCH des Webhooks setzt es später.",
  "The answer to that call holds the secret, and only that one.":
    "Die Antwort auf jenen Aufruf enthält das Geheimnis, und nur sie.",
  "The field secret in the answer to that call; integrations sign with their client secret.":
    "Das Feld secret in der Antwort auf jenen Aufruf; Integrationen signieren mit ihrem client secret.",
  "The field secret in the answer of that call: each webhook has its own.":
    "Das Feld secret in der Antwort jenes Aufrufs: Jeder Webhook hat sein eigenes.",
  "The field token in the answer to that call.": "Das Feld token in der Antwort auf jenen Aufruf.",
  "Option -s of heroku webhooks:add: the source's secret; without it the command prints one of Heroku's.":
    "Option -s von heroku webhooks:add: das Geheimnis der Quelle; ohne sie gibt der Befehl eines von Heroku aus.",
  "The same app's Features page, Secret Token.": "Auf der Seite Features derselben App: Secret Token.",
  "An OAuth app has a webhook signing key of its own instead, made with the app.":
    "Eine OAuth-App hat stattdessen einen eigenen Signaturschlüssel für Webhooks, der mit ihr entsteht.",
  "The endpoint there: copy its webhook secret; or the field secret in the API's answer.":
    "Dort beim Endpunkt: sein webhook secret kopieren; oder das Feld secret in der Antwort der API.",
  "monday.com: Developers, the app, Basic Information, Signing Secret.":
    "monday.com: Developers, die App, Basic Information, Signing Secret.",
  "The same webhook's HMAC Key: generate and copy it.": "HMAC Key desselben Webhooks: erzeugen und kopieren.",
  "The field secret in the answer to that call: who loses it makes another subscription.":
    "Das Feld secret in der Antwort auf jenen Aufruf: Wer es verliert, legt ein neues Abonnement an.",
  "The same form: the authorization header that you set; or, where it signs, the webhook's secret.":
    "Im selben Formular: der Header Authorization, den Sie gesetzt haben; oder, wo es signiert, das Geheimnis des Webhooks.",
  "Recall.ai dashboard: Developers, API Keys & Secrets, the verification secret.":
    "Recall.ai-Dashboard: Developers, API Keys & Secrets, das verification secret.",
  "The secret of that hook (v1,whsec_…), made with it.":
    "Das Geheimnis jenes Hooks (v1,whsec_…), das mit ihm entsteht.",
  "The same section, Show shared secret.": "Im selben Abschnitt: Show shared secret.",
  "The same form, its secret: paste the source's.":
    "Im selben Formular sein secret: das der Quelle einfügen.",
  "Field secret of that call: send the source's secret; without one nothing is signed.":
    "Feld secret jenes Aufrufs: das Geheimnis der Quelle senden; ohne eines wird nichts signiert.",
  "The webhook's secret, which Linear makes where none is given.":
    "Das Geheimnis des Webhooks, das Linear erzeugt, wenn keines angegeben wird.",
  "The same integration's page, Client Secret.": "Auf der Seite derselben Integration: Client Secret.",
  "macSecretBase64 in the answer of that call, shown only there.":
    "macSecretBase64 in der Antwort jenes Aufrufs, nur dort gezeigt.",
  "The webhooks verifier token, which is generated there with the subscription.":
    "Das verifier token der Webhooks, das dort mit dem Abonnement erzeugt wird.",
  "Dev Dashboard: Apps, the app, Settings, Secret; webhooks made in the Shopify admin are signed with another, the store's.":
    "Dev Dashboard: Apps, die App, Settings, Secret; Webhooks aus der Shopify-Verwaltung sind mit einem anderen signiert, dem des Shops.",
  "LINE Developers Console: the channel, Channel secret.":
    "LINE Developers Console: der Kanal, Channel secret.",
  "Field secret of the same call: send the source's secret.":
    "Feld secret desselben Aufrufs: das Geheimnis der Quelle senden.",
  "Meta App Dashboard: the app's Basic Settings, App Secret.":
    "Meta App Dashboard: Basic Settings der App, App Secret.",
  "The endpoint's own secret (whsec_…): its prefix belongs to the key.":
    "Das eigene Geheimnis des Endpunkts (whsec_…): Sein Präfix gehört zum Schlüssel.",
  "Where the API made the endpoint, the answer to that call alone shows it, as secret.":
    "Wurde der Endpunkt über die API angelegt, zeigt es nur die Antwort auf jenen Aufruf, als secret.",
  "The same destination: edit it and copy its secret key (pdl_ntfset_…).":
    "Dasselbe Ziel: bearbeiten und den secret key (pdl_ntfset_…) kopieren.",
  "For an OAuth app its client secret; with a site token the secret key that is made with the webhook.":
    "Bei einer OAuth-App ihr client secret; mit einem site token der secret key, der mit dem Webhook entsteht.",
  "Telnyx Portal: Account Settings, Keys & Credentials, Public Key.":
    "Telnyx-Portal: Account Settings, Keys & Credentials, Public Key.",
  "The same page: switch the signed event webhook on, generate the verification key and copy it.":
    "Auf derselben Seite: den signed event webhook einschalten, den verification key erzeugen und kopieren.",
  "The secret of the API key that signs: self-hosted it is the one that webhook.api_key names.":
    "Das Geheimnis des API-Schlüssels, der signiert: selbst betrieben der, den webhook.api_key nennt.",
  "Vonage API Dashboard: Settings, the signature secret of the API key that the token names.":
    "Vonage API Dashboard: Settings, das signature secret des API-Schlüssels, den das Token nennt.",
  "The same page, My webhook URL is protected by basic authentication: user name and password of your choice.":
    "Auf derselben Seite, My webhook URL is protected by basic authentication: Benutzername und Passwort Ihrer Wahl.",
  "Field HttpAuth of that call: Username and Password of your choice.":
    "Feld HttpAuth jenes Aufrufs: Username und Password Ihrer Wahl.",
  "PUT /spaces/{space}/webhook_settings/signing_secret of that API: the value that is set there.":
    "PUT /spaces/{space}/webhook_settings/signing_secret jener API: der Wert, der dort gesetzt wird.",
  "Mailgun's Webhook Signing Key, one for the account: GET /v5/accounts/http_signing_key.":
    "Mailguns Webhook Signing Key, einer für das Konto: GET /v5/accounts/http_signing_key.",
  "The field auth_key in the answer to that call.": "Das Feld auth_key in der Antwort auf jenen Aufruf.",
  "Plivo Console: Dashboard (console.plivo.com/dashboard), Auth Token.":
    "Plivo Console: Dashboard (console.plivo.com/dashboard), Auth Token.",
  "The app's API secret, the one its server client is made with.":
    "Das API-Geheimnis der App, mit dem ihr Server-Client angelegt wird.",
  "Twilio Console: Account Dashboard, Auth Token.": "Twilio Console: Account Dashboard, Auth Token.",
};
