import type { Mutant } from "./mutants.ts";

/** Each word of `waiting_for` left out, or said where it is not so. */
export const REASON_MUTANTS: readonly Mutant[] = [
  {
    name: "nothing is said of a delivery that waits for a free slot",
    file: "delivery/actor.ts",
    find: 'return this.health.backoffLevel > 0 ? "backoff" : "concurrency";',
    put: "return null;",
  },
  {
    name: "nothing is said of a delivery whose endpoint is paused",
    file: "delivery/actor.ts",
    find: 'if (this.endpoint.status === "paused") return "paused";',
    put: 'if (this.endpoint.status === "paused") return null;',
  },
  {
    name: "nothing is said of a delivery whose endpoint backs off",
    file: "delivery/actor.ts",
    find: 'if (this.#gate() > now && due <= this.#gate()) return "backoff";',
    put: "if (this.#gate() > now && due <= this.#gate()) return null;",
  },
  {
    name: "nothing is said of a delivery that waits for its turn in the order",
    file: "delivery/actor.ts",
    find: '!this.#isFirst(id)) return "order";',
    put: "!this.#isFirst(id)) return null;",
  },
  {
    name: "nothing is said of a delivery that the rate limit holds",
    file: "delivery/actor.ts",
    find: 'if (this.#tokenAt(now) > now) return "rate_limit";',
    put: "if (this.#tokenAt(now) > now) return null;",
  },
  {
    name: "nothing is said of a delivery that waits for a slot of all endpoints",
    file: "delivery/actor.ts",
    find: 'this.#flights.inSlots)) return "concurrency";',
    put: "this.#flights.inSlots)) return null;",
  },
  {
    name: "nothing is said of a delivery whose account is suspended",
    file: "delivery/actor.ts",
    find: 'if (this.parts.isSuspended(this.endpoint.projectId)) return "plan_limit";',
    put: "if (this.parts.isSuspended(this.endpoint.projectId)) return null;",
  },
  {
    name: "nothing is said of a delivery that waits for the plan",
    file: "http/deliveries/shape.ts",
    find: '? "plan_limit"',
    put: "? null",
  },
  {
    name: "nothing is said of a delivery that a full disk holds",
    file: "delivery/actor.ts",
    find: 'if (isHeldByDisk) return "disk";',
    put: "if (isHeldByDisk) return null;",
  },
  {
    name: "a delivery is said to wait for those before it where there are none",
    file: "delivery/actor.ts",
    find: 'if (this.endpoint.ordering === "fifo" && !this.#isFirst(id)) return "order";',
    put: 'if (this.endpoint.ordering === "fifo" || this.#isFirst(-1)) return "order";',
  },
  {
    name: "a delivery is said to wait for an endpoint that does not back off",
    file: "delivery/actor.ts",
    find: 'if (this.#tokenAt(now) > now) return "rate_limit";',
    put: 'if (this.#tokenAt(now) > now) return "backoff";',
  },
];
