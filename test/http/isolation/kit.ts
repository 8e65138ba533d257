/** The whole service with an owner and all who are strangers to what it owns. */
import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { join } from "node:path";
import { ID_KINDS, IdCodec, type IdKind } from "../../../src/core/ids.ts";
import { Meta } from "../../../src/store/meta.ts";
import { Client, type TestApp } from "../../kit/app.ts";
import { createTenant, operatorOf, startOperated, type Tenant } from "../../kit/operator.ts";
import { type Receiver, startReceiver } from "../../kit/receiver.ts";
import type { Reply } from "../kit.ts";

/** What a case names in its requests: ids, names, cursors. */
export type Ids = Readonly<Record<string, string>>;

export interface Ask {
  method: string;
  path: string;
  json?: unknown;
  headers?: Record<string, string>;
  /** In place of the key or token of who asks. */
  bearer?: string | undefined;
}

const ID = new RegExp(`\\b(?:${ID_KINDS.join("|")})_[0-9A-Z]{26}\\b`, "g");
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const SECRET = /\b(?:whsec_|whpk_|spl?_)[A-Za-z0-9_+/=-]+/g;
/** Of the answer as a whole, not of what it says. */
const PASSING_HEADERS = new Set(["x-request-id", "date", "content-length"]);

/** Somebody who makes things in a project: for one of its consumers, or for the project itself. */
export class Party {
  /** Ids and words that nobody else may find in an answer. */
  readonly traces = new Set<string>();
  /** Words of others that it wrote itself: those may come back. */
  readonly said = new Set<string>();
  /** Names of its event types. */
  readonly types = new Set<string>();
  /** Of endpoints and sources, by their ids. */
  readonly secrets = new Map<string, string>();
  #names = 0;

  constructor(
    readonly word: string,
    readonly bench: IsolationBench,
    readonly client: Client,
    readonly consumer: string | null,
  ) {
    this.traces.add(word);
  }

  fresh(): string {
    return `${this.word}.t${++this.#names}`;
  }

  /** Sends what has to succeed; the ids in the answer are this party's from now on. */
  async take<Made = Record<string, string>>(method: string, path: string, json?: unknown): Promise<Made> {
    const reply = await this.client.send(method, path, { json });
    expect([method, path, Math.floor(reply.status / 100), reply.text]).toEqual([method, path, 2, reply.text]);
    for (const [id] of reply.text.matchAll(ID)) if (!/^(acct|proj)_/.test(id)) this.traces.add(id);
    return reply.json as Made;
  }

  async make(path: string, json: unknown): Promise<string> {
    const { id = "", secret } = await this.take("POST", path, json);
    if (secret !== undefined) this.secrets.set(id, secret);
    return id;
  }
}

/** Who tries what is not theirs: with `client`; what is theirs is made by `home`. */
export interface Stranger {
  name: string;
  client: Client;
  home: Party;
  /** Whose things are tried. */
  victim: Party;
  /** null: an API key. */
  grants: readonly string[] | null;
}

export class IsolationBench implements AsyncDisposable {
  readonly receiver: Receiver = startReceiver();
  /** What shows the owner's project: to be found by its own keys and portal tokens only. */
  readonly projectTraces = new Set<string>(["quagga"]);
  strangers: Stranger[] = [];
  #ids: IdCodec | null = null;
  #unknown = 0;

  constructor(readonly app: TestApp) {
    this.operator = new Party("narwhal", this, operatorOf(app), null);
  }

  async open(): Promise<void> {
    const owner = await createTenant(this.app, { name: "Initech", plan: "unlimited" });
    const other = await createTenant(this.app, { name: "Globex", plan: "unlimited" });
    await owner.live.patch("/v1/project", { name: "quagga" });
    const { json } = await owner.live.get("/v1/project");
    this.projectTraces.add(String(json["id"]));
    const anna = new Party("walrus", this, owner.live, "walrus-anna");
    const house = new Party("wombat", this, owner.live, null);
    const bert = new Party("bert", this, owner.live, "bert");
    const sister = new Party("sister", this, owner.test, null);
    const stranger = new Party("stranger", this, other.live, null);
    this.strangers = [
      { name: "a key of another project", client: owner.test, home: sister, victim: anna, grants: null },
      { name: "a key of another account", client: other.live, home: stranger, victim: anna, grants: null },
      await this.#portal(owner, "reads", bert, anna, []),
      await this.#portal(owner, "manages", bert, anna, ["manage"]),
      await this.#portal(owner, "creates", bert, anna, ["create"]),
      await this.#portal(owner, "does all", bert, house, ["manage", "create"]),
    ];
  }

  /** The party of the operator, whose calls nobody else may make. */
  readonly operator: Party;

  async #portal(
    { live }: Tenant,
    does: string,
    home: Party,
    victim: Party,
    grants: string[],
  ): Promise<Stranger> {
    const whose = victim.consumer === null ? "the project" : "another consumer";
    const name = `a portal token that ${does}, with what is of ${whose},`;
    return { name, client: await this.opened(live, home.consumer, grants), home, victim, grants };
  }

  /** Speaks with a new portal token. */
  async opened(key: Client, consumer: string | null, grants: string[]): Promise<Client> {
    const fields = Object.fromEntries(grants.map((grant) => [grant, true]));
    const { url = "" } = await key.create("/v1/portal-links", { consumer_id: consumer, ...fields });
    return this.app.with(url.slice(url.indexOf("#") + 1));
  }

  ask(client: Client, { method, path, json, headers = {}, bearer }: Ask): Promise<Reply> {
    const speaker = bearer === undefined ? client : this.app.with(bearer);
    return speaker.send(method, path, { json, headers });
  }

  /** Of the same kinds as these, well-formed, and nothing has them. */
  unknown(ids: Ids): Ids {
    return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, this.#unknownOf(id)]));
  }

  #unknownOf(text: string): string {
    const kind = kindOf(text);
    if (kind !== null) return this.codec.encode(kind, (this.codec.decode(kind, text) ?? 0) + 2000);
    const inner = Buffer.from(text, "base64url").toString();
    if (kindOf(inner) !== null) return Buffer.from(this.#unknownOf(inner)).toString("base64url");
    return `nobody.n${++this.#unknown}`;
  }

  get codec(): IdCodec {
    if (this.#ids !== null) return this.#ids;
    using sqlite = new Database(join(this.app.dataDir, "sealpost.db"));
    this.#ids = new IdCodec("00", new Meta(sqlite).secret("id_permutation", 16));
    return this.#ids;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
    await this.receiver.close();
  }
}

export async function startIsolation(): Promise<IsolationBench> {
  const bench = new IsolationBench(await startOperated());
  await bench.open();
  return bench;
}

function kindOf(text: string): IdKind | null {
  return ID_KINDS.find((kind) => new RegExp(`^${kind}_[0-9A-Z]{26}$`).test(text)) ?? null;
}

/**
 * An answer without what is of this one request: its id, what it named, and, where it made something, what
 * was made.
 */
export function essence(reply: Reply, named: Ids): unknown {
  const isMade = reply.status === 201 || reply.status === 202;
  let text = reply.text.replaceAll(reply.headers.get("x-request-id") ?? "none", "<request>");
  for (const value of Object.values(named)) text = text.replaceAll(value, "<named>");
  text = text.replaceAll(TIME, "<time>");
  if (isMade) text = text.replaceAll(ID, "<made>").replaceAll(SECRET, "<secret>");
  const headers = [...reply.headers].filter(([name]) => !PASSING_HEADERS.has(name));
  return { status: reply.status, headers, text };
}

/** Everything that an answer says, also within its cursor, without what the asking side named itself. */
export function wordsOf(reply: Reply, named: readonly string[] = []): string {
  const cursor = reply.json["next_cursor"];
  const inner = typeof cursor === "string" ? Buffer.from(cursor, "base64url").toString() : "";
  let text = `${reply.text} ${inner} ${JSON.stringify([...reply.headers])}`;
  for (const value of named.toSorted((a, b) => b.length - a.length)) text = text.replaceAll(value, "<named>");
  return text;
}
