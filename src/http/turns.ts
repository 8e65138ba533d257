/** How long one piece of work may hold the event loop before the others have their turn. */
const TURN_MS = 5;

/** Long work in slices: `giveWay` between its parts lets the event loop come round as often as it should. */
export class Turns {
  #startedAt = performance.now();

  async giveWay(): Promise<void> {
    if (performance.now() - this.#startedAt < TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#startedAt = performance.now();
  }
}
