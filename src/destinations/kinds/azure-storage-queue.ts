import type { AttemptErrorCode } from "../../core/attempt-error.ts";
import { DELIVERED, rejected, UNEXPECTED } from "../answers.ts";
import { sharedKey } from "../azure-signatures.ts";
import { faultOf, readConnectionString, requireHeaderText, requirePart } from "../connection-string.ts";
import { type DestinationKind, isSuccess } from "../destination.ts";
import { base64, headersWith, perConfig, textOf, urlBelow } from "../requests.ts";

const API_VERSION = "2021-12-02";
const CONTENT_TYPE = "application/xml";
const encoder = new TextEncoder();

/** The emulator's account is the same everywhere, and no secret. */
const EMULATOR =
  "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;" +
  "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

interface Account {
  url: string;
  /** `?…`, where the connection string brings a signature instead of a key. */
  token: string | null;
  name: string;
  key: string;
}

/** Throws the sentence that says what is wrong. */
function readAccount(text: string): Account {
  const given = readConnectionString(text);
  const parts =
    given.get("usedevelopmentstorage")?.toLowerCase() === "true" ? readConnectionString(EMULATOR) : given;
  const token = parts.get("sharedaccesssignature")?.replace(/^\?/, "") ?? null;
  const url = parts.get("queueendpoint") ?? defaultEndpoint(parts);
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new Error("Expected a QueueEndpoint such as https://ACCOUNT.queue.core.windows.net.");
  }
  return {
    url,
    token,
    name: token === null ? requirePart(parts, "AccountName") : "",
    key: token === null ? requirePart(parts, "AccountKey") : "",
  };
}

function checkAccount({ token, name }: Account): void {
  if (token === null) requireHeaderText("AccountName", name);
}

function defaultEndpoint(parts: ReadonlyMap<string, string>): string {
  const suffix = parts.get("endpointsuffix") ?? "core.windows.net";
  const protocol = parts.get("defaultendpointsprotocol") ?? "https";
  return `${protocol}://${requirePart(parts, "AccountName")}.queue.${suffix}`;
}

const connectionOf = perConfig((config) => {
  const account = readAccount(textOf(config, "connection_string") ?? "");
  const path = `/${encodeURIComponent(textOf(config, "queue") ?? "")}/messages`;
  const url = urlBelow(account.url, path, account.token ?? "");
  return { account, url };
});

/** What the service says in `x-ms-error-code` → the error code. */
const CODES: ReadonlyMap<string, AttemptErrorCode> = new Map([
  ["AuthenticationFailed", "signature_refused"],
  ["AuthorizationFailure", "permission_missing"],
  ["AuthorizationPermissionMismatch", "permission_missing"],
  ["InsufficientAccountPermissions", "permission_missing"],
  ["QueueNotFound", "queue_not_found"],
  ["QueueDisabled", "queue_disabled"],
  ["RequestBodyTooLarge", "message_too_large"],
]);

/** The queues of Azure Storage. */
export const azureStorageQueue: DestinationKind = {
  kind: "azure_storage_queue",
  name: "Azure Storage Queue",
  about: {
    sentAs:
      "`POST /QUEUE/messages`, signed with the account's key or with the shared access signature. The message's text is the body's bytes in " +
      "base64, as Azure Functions and Event Grid have it.",
    deliveredWhen: "The status is 201.",
    testedAgainst: "Azurite 3.35.0, read back with `@azure/storage-queue`",
    notes:
      "Messages have no attributes, so the three `webhook-*` headers cannot travel: consumers cannot verify signatures, and find repeats by what " +
      "the event itself holds. A shared access signature needs the permission *Add*.",
    errors: {
      signature_refused: "Key or shared access signature are wrong, or have expired.",
      permission_missing: "The shared access signature lacks the permission Add on this queue.",
      queue_not_found: "The account has no such queue.",
      queue_disabled: "The queue is disabled.",
      message_too_large: "The message exceeds 64 KiB in base64.",
    },
  },
  fields: [
    {
      name: "connection_string",
      label: "Connection string",
      help: "Of the storage account: …AccountName=…;AccountKey=…, or QueueEndpoint=…;SharedAccessSignature=….",
      required: true,
      secret: true,
      address: false,
      check: (text) => faultOf(() => checkAccount(readAccount(text))),
    },
    {
      name: "queue",
      label: "Queue",
      help: "Its name.",
      required: true,
      secret: false,
      address: false,
      pattern: "[a-z0-9](?:-?[a-z0-9]){2,62}",
    },
  ],
  // learn.microsoft.com/rest/api/storageservices/put-message: 64 KiB of text, in which base64 takes 4 bytes
  // for 3.
  maxBytes: 49_152,
  protocolHeaders: ["authorization", "date", "x-ms-*"],
  addresses: (config) => [
    { field: "connection_string", url: readAccount(textOf(config, "connection_string") ?? "").url },
  ],
  secrets(config) {
    const { key, token } = connectionOf(config).account;
    return [key, token ?? "", new URLSearchParams(token ?? "").get("sig") ?? ""];
  },
  request(config, message, now) {
    const { account, url } = connectionOf(config);
    const text = base64(message.body);
    const body = encoder.encode(`<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`);
    const msHeaders = { "x-ms-date": new Date(now).toUTCString(), "x-ms-version": API_VERSION };
    const signed = { method: "POST", url, contentLength: body.length, contentType: CONTENT_TYPE, msHeaders };
    const authorization: [string, string][] =
      account.token === null ? [["authorization", sharedKey(account.name, account.key, signed)]] : [];
    const headers = headersWith(
      [["content-type", CONTENT_TYPE], ...Object.entries(msHeaders), ...authorization],
      message,
    );
    return { method: "POST", url, headers, body, secretQuery: account.token !== null };
  },
  judge({ status, headers }) {
    if (status === 201) return DELIVERED;
    if (isSuccess(status)) return rejected(UNEXPECTED);
    const code = headers.find(([name]) => name === "x-ms-error-code")?.[1] ?? "";
    return rejected(CODES.get(code) ?? null);
  },
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Azure Storage Queue": "Azure Storage Queue",
  "Of the storage account: …AccountName=…;AccountKey=…, or QueueEndpoint=…;SharedAccessSignature=….":
    "Des Speicherkontos: …AccountName=…;AccountKey=…, oder QueueEndpoint=…;SharedAccessSignature=….",
  Queue: "Warteschlange",
};
