/** A service that is moved away from, in the form of its own documents, over real HTTP. */

export interface Ask {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
}

/** What a service answers: its JSON, or a whole answer. */
export type Answers = (ask: Ask) => unknown;

export class Recorded implements AsyncDisposable {
  readonly asked: string[] = [];
  /** What a request is answered instead; null: nothing else. */
  trouble: (path: string) => Response | null = () => null;
  readonly #server: Bun.Server<undefined>;

  /** `refused` is what another token is answered; null: nothing. */
  constructor(token: string, refused: object | null, answers: Answers) {
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => {
        const { pathname: path, searchParams: query, search } = new URL(request.url);
        this.asked.push(`${request.method} ${path}${search}`);
        const trouble = this.trouble(path);
        if (trouble !== null) return trouble;
        if (request.headers.get("authorization") !== `Bearer ${token}`)
          return new Response(refused && JSON.stringify(refused), { status: 401 });
        const answer = answers({ method: request.method, path, query, headers: request.headers });
        return answer instanceof Response ? answer : Response.json(answer);
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}
