import { IdCodec } from "../../src/core/ids.ts";
import { TurnQueue } from "../../src/core/structures/turn-queue.ts";
import type { SendParts } from "../../src/delivery/send.ts";
import type { TransportRequest, TransportResult } from "../../src/transport/types.ts";

/** What an attempt needs, over a transport that answers so. */
export function partsWith(answer: (request: TransportRequest) => Promise<TransportResult>): SendParts {
  return {
    turnsOf: () => new TurnQueue({ schedule: setImmediate, beginShare: () => ({ isOver: false }) }),
    isTurnOver: () => false,
    ids: new IdCodec("00", new Uint8Array(16)),
    now: Date.now,
    dated: Date.now,
    monotonic: () => performance.now(),
    untilMayGo: () => null,
    onBroken: (_endpoint, error) => {
      throw error;
    },
    signal: new AbortController().signal,
    transport: { send: answer, stats: () => ({ open: 0, idle: 0, connects: 0, reused: 0 }), close() {} },
  };
}
