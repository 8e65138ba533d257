import type { Mutant } from "./mutants.ts";

/** Of what waits in the database, and of the order in which it is read. */
export const PARKED_MUTANTS: readonly Mutant[] = [
  {
    name: "a retry is parked, and the backlog is not told of it",
    file: "delivery/backlog.ts",
    find: "else this.park(id, change.due);",
    put: "",
  },
  {
    name: "a delivery that is reopened and parked stays in the queue with its old time",
    file: "delivery/backlog.ts",
    find: "if (this.#queue.has(id)) this.reload(id);\n    this.park(id, due);",
    put: "this.park(id, due);",
  },
  {
    name: "nothing is parked while too many are on their way to their actors",
    file: "delivery/actors.ts",
    find: 'const isDispatcherFull = this.dispatcher.waiting >= limit("dispatchWaitingMax");',
    put: "const isDispatcherFull = false;",
  },
  {
    name: "where order is kept, what is parked is read by its time",
    file: "delivery/actors.ts",
    find: "this.parked(id, ordering, count)",
    put: 'this.parked(id, ordering && "none", count)',
  },
  {
    name: "what is parked stands by its key and not by its due time",
    file: "pipeline/new-delivery.ts",
    find: "return toPark.has(id) ? due : null;",
    put: "return toPark.has(id) ? data.store.takeKey() : null;",
  },
  {
    name: "what is polled is read by its key where its endpoint says that it keeps order",
    file: "delivery/polling/poller.ts",
    find: 'parked(endpoint.id, "none", ask.limit + 1)',
    put: "parked(endpoint.id, endpoint.ordering, ask.limit + 1)",
  },
  {
    name: "what is polled stands by its time and not by its position",
    file: "pipeline/new-delivery.ts",
    find: "if (isPolled(kind)) return data.store.takeKey();",
    put: "if (isPolled(kind)) return due;",
  },
];
