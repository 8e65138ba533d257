/** A child process that prints what arrives, a line each, for tests that wait for the next one. */
export class Lines implements AsyncDisposable {
  readonly #child;
  readonly #lines;
  #rest = "";

  constructor(command: string[], env: Record<string, string> = {}) {
    this.#child = Bun.spawn(command, {
      env: { ...process.env, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    this.#lines = this.#child.stdout.getReader();
  }

  /** The next line; rejects where the process ends before. */
  async next(): Promise<string> {
    const decoder = new TextDecoder();
    for (;;) {
      const end = this.#rest.indexOf("\n");
      if (end >= 0) {
        const line = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 1);
        return line;
      }
      const { done, value } = await this.#lines.read();
      if (done) throw new Error(`the reader ended with ${await this.#child.exited}`);
      this.#rest += decoder.decode(value, { stream: true });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#child.exited;
  }
}

/** A message printed as body and the three headers, each in base64. */
export function readLine(line: string): { body: string; headers: Record<string, string> } {
  const [body = "", id = "", timestamp = "", signature = ""] = line
    .split(" ")
    .map((part) => Buffer.from(part, "base64").toString());
  return {
    body,
    headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature },
  };
}
