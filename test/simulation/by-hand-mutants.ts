import type { Mutant } from "./mutants.ts";

/** What is asked for by hand, and called off, refused or overtaken before it is over. */
export const BY_HAND_MUTANTS: readonly Mutant[] = [
  {
    name: "a retry by hand that waits outlives the end of its delivery",
    file: "store/log/deliveries.ts",
    find: "    this.parts.askedRetries.end(id);\n",
    put: "",
  },
  {
    name: "a retry by hand whose write was refused is made later",
    file: "delivery/retries.ts",
    find: "return write().finally(() => this.#unwritten.delete(deliveryId));",
    put: "return write();",
  },
  {
    name: "a retry by hand whose write is on its way is taken for one that was called off",
    file: "delivery/retries.ts",
    find: "if (!this.#unwritten.has(id) && !this.data.askedRetries.has(id)) continue;",
    put: "if (!this.data.askedRetries.has(id)) continue;",
  },
  {
    name: "a retry by hand that waits is made although its account is suspended",
    file: "delivery/retries.ts",
    find: "if (delivery && tenants.isSuspended(delivery.projectId))",
    put: "if (delivery && false)",
  },
  {
    name: "a retry by hand that waits is made although its endpoint was closed",
    file: "delivery/actor.ts",
    find: 'if (this.#state.mode === "closing" || isClosed(this.endpoint)) return "closed";',
    put: 'if (this.#state.mode === "closing") return "closed";',
  },
  {
    name: "a retry by hand that waits stays in the database once its endpoint was closed",
    file: "delivery/retries.ts",
    find: 'if (refusal === "closed" || refusal === "polled") this.#end(id);',
    put: 'if (refusal === "closed" || refusal === "polled") continue;',
  },
  {
    name: "whoever may not ask any more gets the answer of a test",
    file: "http/endpoints/test-event.ts",
    find: "context.requireCaller();",
    put: "",
  },
  {
    name: "tests that come together are written before they are counted",
    file: "delivery/flights.ts",
    find: "return this.#byHand + this.#reserved;",
    put: "return this.#byHand;",
  },
  {
    name: "a test that is not written keeps its attempt",
    file: "http/endpoints/test-event.ts",
    find: "  } finally {\n    giveBack();",
    put: "  } finally {\n    void 0;",
  },
  {
    name: "a test is sent to the address that its endpoint left while it was written",
    file: "delivery/actor.ts",
    find: "    this.endpoint = endpoint;\n    if (isAfresh)",
    put: "    this.endpoint = isAfresh && this.#flights.taken > this.#flights.inFlight ? { ...endpoint, config: this.endpoint.config } : endpoint;\n    if (isAfresh)",
  },
  {
    name: "an answer to what began before an endpoint was enabled or resumed closes or slows it again",
    file: "delivery/actor.ts",
    find: "    this.endpoint = endpoint;\n    if (isAfresh) {\n      this.#epoch++;",
    put: "    const isOpened = this.endpoint.status !== 'active';\n    this.endpoint = endpoint;\n    if (isAfresh) {\n      if (!isOpened) this.#epoch++;",
  },
  {
    name: "what an earlier address answered to a test slows the one of now down",
    file: "core/delivery.ts",
    find: 'if (start.isOutdated || finding.outcome === "malformed") return health;',
    put: 'if ((start.isOutdated && !isExtra(start.trigger)) || finding.outcome === "malformed") return health;',
  },
];
