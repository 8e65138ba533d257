/**
 * A CPU profile as `bun --cpu-prof` writes it, in Chrome's format. Bun looks some thousand times a second
 * which function runs, and notes nothing while no JavaScript does: the loop itself, what it reads from
 * sockets, and waiting are in none of the samples. What JavaScript calls is, down to the write of a socket.
 */
export interface CpuProfile {
  nodes: ProfileNode[];
  /** Microseconds of the wall clock. */
  startTime: number;
  /** The ids of the nodes that ran. */
  samples: number[];
  /** Microseconds of each sample since the one before. */
  timeDeltas: number[];
}

/** A function, called by the node of which it is a child. */
interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string };
  children?: number[];
}

/** What ran within a span: shares of the samples in it. */
export interface Shares {
  samples: number;
  /** By the folder of `src` whose code ran, or had called what ran: the nearest caller counts. */
  rooms: Map<string, number>;
  /** By room and function, as `store: run`. */
  functions: Map<string, number>;
}

/** Where no file of ours has called: Bun's own callbacks. */
const NO_ROOM = "Bun";
/** In the bare loop, which has no rooms. */
const ROOMS_OF_BARE: Readonly<Record<string, string>> = {
  "bare-store.ts": "store",
  "bare-sender.ts": "transport",
  "wire.ts": "transport",
};
const DELIVERY_OF_BARE = ["deliver", "formatRequest"];

/** What ran from `fromUs` to `toUs`, by the wall clock. */
export function readShares(profile: CpuProfile, fromUs = 0, toUs = Number.POSITIVE_INFINITY): Shares {
  const roomOf = roomsOf(profile.nodes);
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame.functionName]));
  const within: number[] = [];
  let atUs = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    atUs += profile.timeDeltas[index] ?? 0;
    // Bun's own work, for which it says that JavaScript runs, has no name and no caller.
    const isNamed = roomOf.has(id) || names.get(id) !== "";
    if (atUs >= fromUs && atUs <= toUs && isNamed) within.push(id);
  }
  const rooms = within.map((id) => roomOf.get(id) ?? NO_ROOM);
  return {
    samples: within.length,
    rooms: sharesOf(rooms),
    functions: sharesOf(within.map((id, at) => `${rooms[at]}: ${names.get(id) || "(no name)"}`)),
  };
}

/** The largest first. */
function sharesOf(names: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const shares = [...counts].map(([name, count]): [string, number] => [name, count / names.length]);
  return new Map(shares.sort(([, one], [, other]) => other - one));
}

/** A caller stands before what it calls. */
function roomsOf(nodes: readonly ProfileNode[]): Map<number, string> {
  const rooms = new Map<number, string>();
  for (const { id, callFrame, children } of nodes) {
    const room = ownRoom(callFrame) ?? rooms.get(id);
    if (room === undefined) continue;
    rooms.set(id, room);
    for (const child of children ?? []) rooms.set(child, room);
  }
  return rooms;
}

function ownRoom({ functionName, url }: ProfileNode["callFrame"]): string | undefined {
  const [, folder, file] = /\/src\/(?:(\w+)\/.*|([\w-]+)\.ts)$/.exec(url) ?? [];
  if (folder !== undefined || file !== undefined) return folder ?? "app";
  const [, bench] = /\/test\/bench\/([\w-]+\.ts)$/.exec(url) ?? [];
  if (bench === "bare.ts") return DELIVERY_OF_BARE.includes(functionName) ? "delivery" : "http";
  return bench && ROOMS_OF_BARE[bench];
}
