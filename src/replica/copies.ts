import { type Litestream, LitestreamGone } from "./litestream.ts";

/**
 * Copies of the WAL into Litestream's folder, for the time in which no upload makes them: the WAL is
 * shortened only after it was copied. What is copied waits there for its upload, and confirms nothing.
 */
export class Copies {
  #isRunning = false;
  /** Something is copied that the replica lacks: Litestream goes on trying to upload it by itself. */
  #isBehind = false;
  #uploads = 0;

  constructor(private readonly litestream: Pick<Litestream, "copy">) {}

  /** An upload has brought everything. */
  onUploaded(): void {
    this.#uploads++;
    this.#isBehind = false;
  }

  /**
   * One copy, where none runs. Litestream uploads what it has copied: where it may not be the one to do so
   * (`mayUpload`), nothing is copied unless it has something to upload anyway.
   */
  async make(mayUpload: boolean): Promise<void> {
    if (this.#isRunning || !(mayUpload || this.#isBehind)) return;
    this.#isRunning = true;
    const uploads = this.#uploads;
    try {
      const isBehind = await this.litestream.copy();
      if (this.#uploads === uploads) this.#isBehind = isBehind;
    } catch (error) {
      // What else fails here fails the upload too, and is told by it.
      if (error instanceof LitestreamGone) this.#isBehind = false;
    } finally {
      this.#isRunning = false;
    }
  }
}
