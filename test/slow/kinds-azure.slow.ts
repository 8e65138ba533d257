// time budget: 300 s
/**
 * The kind `azure_storage_queue` against Azurite, which verifies signatures; messages are read back with the
 * official client.
 */
import { afterAll } from "bun:test";
import { join } from "node:path";
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  QueueClient,
  StorageSharedKeyCredential,
} from "@azure/storage-queue";
import { installProgram } from "../kit/npm.ts";
import { freePorts, makeFolder, RealServer } from "../kit/real-server.ts";
import { type Arrived, type LiveKind, testLive } from "../destinations/kinds/live.ts";

const ACCOUNT = "devstoreaccount1";
/** The emulator's own, the same everywhere. */
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const OTHER_KEY = Buffer.alloc(64, "another key").toString("base64");
const folder = makeFolder("azurite");
const credential = new StorageSharedKeyCredential(ACCOUNT, KEY);

afterAll(() => folder.remove());

/** A signature for a minute's worth of tests, with these permissions. */
function sasOf(permissions: string, startsOn: Date): string {
  const parameters = {
    permissions: AccountSASPermissions.parse(permissions),
    resourceTypes: AccountSASResourceTypes.parse("sco").toString(),
    services: AccountSASServices.parse("q").toString(),
    startsOn,
    expiresOn: new Date(startsOn.getTime() + 3_600_000),
  };
  return generateAccountSASQueryParameters(parameters, credential).toString();
}

/** With the account's key, or with a signature made of it. */
async function prepare(isSigned: boolean): Promise<LiveKind> {
  const program = await installProgram("azurite@3.35.0");
  const [port = 0] = await freePorts(1);
  const place = [
    "--queueHost",
    "127.0.0.1",
    "--queuePort",
    String(port),
    "--location",
    join(folder.path, String(port)),
  ];
  const server = new RealServer({
    name: "Azurite",
    command: [
      "node",
      join(program, "dist/src/queue/main.js"),
      ...place,
      "--skipApiVersionCheck",
      "--disableTelemetry",
      "--silent",
    ],
    isReady: async () => (await fetch(`http://127.0.0.1:${port}/`)).status > 0,
  });
  await server.start();
  const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`;
  const queue = new QueueClient(`${endpoint}/orders`, credential);
  await queue.createIfNotExists();
  const withKey = (key: string) => `AccountName=${ACCOUNT};AccountKey=${key};QueueEndpoint=${endpoint}`;
  const withSas = (sas: string) => `QueueEndpoint=${endpoint};SharedAccessSignature=${sas}`;
  const minuteAgo = new Date(Date.now() - 60_000);
  const dayAgo = new Date(Date.now() - 86_400_000);
  const wrong = isSigned ? withSas(sasOf("a", dayAgo)) : withKey(OTHER_KEY);
  const mayRead = withSas(sasOf("r", minuteAgo));
  return {
    kind: "azure_storage_queue",
    config: { connection_string: isSigned ? withSas(sasOf("a", minuteAgo)) : withKey(KEY), queue: "orders" },
    read: () => receive(queue),
    refusals: [
      {
        name: isSigned ? "a signature that has ended" : "a wrong key",
        config: { connection_string: wrong },
        statusCode: 403,
        means: "signature_refused",
      },
      {
        name: "a signature without the permission to add",
        config: { connection_string: mayRead },
        statusCode: 403,
        means: "permission_missing",
      },
      { name: "missing queue", config: { queue: "nope" }, statusCode: 404, means: "queue_not_found" },
    ],
    start: () => server.start(),
    stop: () => server.stop(),
  };
}

/** Takes the next message off the queue. */
async function receive(queue: QueueClient): Promise<Arrived> {
  for (;;) {
    const [item] = (await queue.receiveMessages({ numberOfMessages: 1 })).receivedMessageItems;
    if (item === undefined) continue;
    await queue.deleteMessage(item.messageId, item.popReceipt);
    return { body: Buffer.from(item.messageText, "base64").toString(), headers: null };
  }
}

testLive("Azure Storage Queue, with the account's key", () => prepare(false));
testLive("Azure Storage Queue, with a shared access signature", () => prepare(true));
