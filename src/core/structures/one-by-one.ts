/** Works of one name, one after the other; those of others go on beside them. */
export class OneByOne<Name> {
  /** By name: the end of the last work that runs, or waits for those before it. */
  readonly #last = new Map<Name, Promise<void>>();

  /** Resolves, or rejects, as this work does; whatever became of those before it. */
  async run<Made>(name: Name, work: () => Promise<Made>): Promise<Made> {
    const before = this.#last.get(name);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last.set(name, promise);
    await before;
    try {
      return await work();
    } finally {
      resolve();
      if (this.#last.get(name) === promise) this.#last.delete(name);
    }
  }
}
