import { type Static, Type } from "@sinclair/typebox";
import { keyTime } from "../../core/ids.ts";
import type { ListedReplay } from "../../store/log/replays.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, oneOf, timeShape, timeText } from "../shared/shapes.ts";

export const replayShape = Type.Object(
  {
    id: Type.String(),
    status: oneOf(["running", "completed", "cancelled"]),
    matched: Type.Integer({ description: "How many matched when it began." }),
    replayed: Type.Integer({ description: "How many were replayed so far." }),
    created_at: timeShape,
    completed_at: nullable(timeShape),
  },
  { $id: "Replay" },
);

export const replayExample: Static<typeof replayShape> = {
  id: "rpl_01KAHMC4T900F6G7H8J9K0M1N2",
  status: "running",
  matched: 41,
  replayed: 0,
  created_at: "2026-11-20T09:01:20.000Z",
  completed_at: null,
};

export function replayOf({ ids }: Needs<"ids">, replay: ListedReplay): Static<typeof replayShape> {
  return {
    id: ids.encode("rpl", replay.id),
    status: replay.status,
    matched: replay.matched,
    replayed: replay.replayed,
    created_at: timeText(keyTime(replay.id)),
    completed_at: timeText(replay.completedAt),
  };
}
