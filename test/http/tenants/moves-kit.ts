import type { NewAccount } from "../../../src/store/resources/tenants.ts";
import { OPERATOR_TOKEN } from "../kit.ts";
import { type Api, type Reply, startApi } from "../log-kit.ts";

interface Came {
  method: string;
  url: string;
  headers: Headers;
  body: string;
}

/** A service with an account that may leave, and the cell that it moves to, which answers all with 218. */
export class Leaving implements AsyncDisposable {
  /** What the other cell was asked. */
  readonly came: Came[] = [];
  /** Whether the other cell is ready. */
  isReady = true;
  readonly #other: Bun.Server<undefined>;
  #asked = 0;
  #answerAll: () => void = () => {};
  readonly #mayAnswer = new Promise<void>((resolve) => (this.#answerAll = resolve));

  private constructor(
    readonly api: Api,
    readonly made: NewAccount,
  ) {
    this.#other = Bun.serve({ port: 0, fetch: (request) => this.#answer(request) });
  }

  static async start(): Promise<Leaving> {
    const api = await startApi();
    const { store, tenants } = api.data;
    const made = await store.write(() => tenants.insertAccount({ name: "leaves", plan: "pro" }));
    tenants.rememberNewAccount(made);
    return new Leaving(api, made);
  }

  get id(): string {
    return this.api.data.ids.encode("acct", this.made.account.id);
  }

  get machine(): string {
    return `127.0.0.1:${this.#other.port}`;
  }

  /** Resolves once the other cell was asked so often. */
  async held(count: number): Promise<void> {
    while (this.#asked < count) await Bun.sleep(5);
  }

  /** The other cell answers what it has held. */
  letGo(): void {
    this.#answerAll();
  }

  /** Resolves with the answer, for which the replica has to confirm. */
  move(fields: object = {}): Promise<Reply> {
    const call = { accounts: [this.id], cell: "2B", machines: [this.machine], ...fields };
    return this.api.call("POST", "/v1/operator/moves", call, OPERATOR_TOKEN);
  }

  async moved(): Promise<void> {
    const moving = this.move();
    await this.api.replica.asked();
    this.api.replica.confirm();
    const { status } = await moving;
    if (status !== 200) throw new Error(`the move was answered ${status}`);
  }

  /** With the full key of its live project. */
  asOwner(method: string, path: string, body?: unknown): Promise<Response> {
    return this.api.handle(method, path, body, this.made.live.token);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (pathname === "/readyz") return new Response(null, { status: this.isReady ? 200 : 503 });
    const { method, headers } = request;
    this.#asked++;
    if (search.includes("hold=")) await this.#mayAnswer;
    this.came.push({ method, url: pathname + search, headers, body: await request.text() });
    return new Response("from the other", { status: 218, headers: { "x-own": "1", connection: "close" } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#other.stop(true);
    await this.api[Symbol.asyncDispose]();
  }
}
