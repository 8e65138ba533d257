/** What whoever starts, or waits, is to do by the lease that it sees, and in which generation. */
import { describe, expect, test } from "bun:test";
import { LEASE_MS, roleOf, SILENCE_MS, type Succession, successionOf } from "../../src/replica/lease.ts";

describe("whoever starts, or waits", () => {
  const own = { writer: "a", place: "here", generation: 3, start: 5, beat: 50, copiedTo: 7 };
  const ours: NonNullable<Parameters<typeof roleOf>[0]> = {
    installation: "db",
    writer: "a",
    place: "here",
    generation: 3,
    from: null,
    kept: null,
    ended: false,
    start: 5,
    beat: 50,
    txid: 7,
  };
  const theirs = { ...ours, writer: "b", place: "there" };
  /** Of a copy of this directory, or of this one before its machine started anew. */
  const copys = { ...ours, place: "elsewhere" };
  const none = { ...own, generation: null };
  /** Another one is to restore what this directory's database is the newest of. */
  const taken = { ...theirs, generation: 4, from: 3 };
  const failed = { ...taken, ended: true };
  const failedOurs = { ...failed, writer: "a", place: "here" };
  const as = (lease: typeof ours) => ({ lease, isLease: true });
  const placeless = { ...own, place: null };
  const cases: [what: string, role: string, ...Parameters<typeof roleOf>][] = [
    ["where there is no lease begins", "begin", null, own, "still"],
    ["with the lease and its database goes on", "resume", ours, own, "still"],
    ["also where it has ended", "resume", { ...ours, ended: true }, own, "still"],
    ["also where it has written more than the replica has", "resume", ours, { ...own, beat: 51 }, "still"],
    [
      "with the lease and a database of an earlier generation restores",
      "take",
      ours,
      { ...own, generation: 2 },
      "still",
    ],
    ["with the lease and no database restores", "take", ours, { ...own, generation: null }, "still"],
    [
      "with an older copy of the disk, of an earlier start, restores",
      "take",
      ours,
      { ...own, start: 4 },
      "still",
    ],
    ["… of an earlier beat", "take", ours, { ...own, beat: 49 }, "still"],
    [
      "whose very first start was cut off begins again",
      "resume",
      { ...ours, installation: null },
      { ...own, generation: null },
      "still",
    ],
    [
      "that was to go on from its own earlier database, and was cut off, does",
      "resume",
      { ...ours, from: 0 },
      { ...own, generation: 0 },
      "still",
    ],
    [
      "… also from one of another generation than the one that could be restored",
      "resume",
      { ...ours, from: 2, kept: 1 },
      { ...own, generation: 1 },
      "still",
    ],
    [
      "that was to restore, and was cut off, restores",
      "take",
      { ...ours, from: 2 },
      { ...own, generation: null },
      "still",
    ],
    ["beside another one follows", "follow", theirs, own, "still"],
    ["takes the lease of one that is silent", "take", theirs, own, "silent"],
    ["that has seen it change follows", "follow", theirs, own, "changing"],
    ["with a copy of the directory that has the lease waits", "wait", copys, own, "still"],
    ["… and follows it where it lives", "follow", copys, own, "changing"],
    ["… and goes on in its place where it is silent", "resume", copys, own, "silent"],
    ["… or has given it up", "resume", { ...copys, ended: true }, own, "still"],
    [
      "… with a database of an earlier generation restores",
      "take",
      copys,
      { ...own, generation: 2 },
      "silent",
    ],
    [
      "… with a copy of the same beat that lacks the last uploads restores",
      "take",
      copys,
      { ...own, copiedTo: 6 },
      "silent",
    ],
    ["… and so does one that was put back in its own place", "take", ours, { ...own, copiedTo: 6 }, "still"],
    [
      "that was to restore, as its disk was older, restores though the older disk is still there",
      "take",
      { ...ours, generation: 4, from: 3 },
      { ...own, copiedTo: 6 },
      "still",
    ],
    [
      "that is to go on with its own disk has lost Litestream's folder by that already",
      "resume",
      { ...ours, generation: 4, from: 3, kept: 3 },
      { ...own, copiedTo: 0 },
      "still",
    ],
    [
      "goes on at its own place where Litestream's folder alone is lost",
      "resume",
      ours,
      { ...own, copiedTo: 0 },
      "still",
    ],
    ["… and at another one does not", "take", copys, { ...own, copiedTo: 0 }, "silent"],
    ["with a copy and no database waits too", "wait", copys, { ...own, generation: null }, "still"],
    ["waits where no place can be told", "wait", { ...ours, place: null }, placeless, "still"],
    ["takes it at once where it was given up", "take", { ...theirs, ended: true }, own, "still"],
    ["follows one that is to restore what it has itself", "follow", taken, own, "changing"],
    ["… and goes on with its own disk where that has failed", "resume", failed, own, "changing"],
    ["… or is silent", "resume", taken, own, "silent"],
    ["… or has begun, and is silent: restores", "take", { ...taken, start: 6 }, own, "silent"],
    ["… with an older copy restores", "take", failed, { ...own, beat: 49 }, "still"],
    ["… of the same beat", "take", failed, { ...own, copiedTo: 6 }, "still"],
    [
      "… also where the other one has kept another such copy",
      "take",
      { ...taken, kept: 3 },
      { ...own, copiedTo: 6 },
      "silent",
    ],
    ["… with another generation's disk restores", "take", failed, { ...own, generation: 2 }, "still"],
    [
      "… with that of a service alone restores",
      "take",
      { ...failed, generation: 1, from: 0 },
      { ...own, generation: 0 },
      "still",
    ],
    ["whose own take-over has failed has nothing to go on with", "take", failedOurs, none, "still"],
  ];
  for (const [what, role, ...given] of cases)
    test(what, () => {
      expect(roleOf(...given)).toBe(role as "begin");
    });

  const generations: [what: string, next: Succession, ...Parameters<typeof successionOf>][] = [
    ["of the first lease is the first", { generation: 1, from: null, kept: null }, "begin", null, none],
    [
      "of the first lease over a database is the first, and that is kept",
      { generation: 1, from: 0, kept: 0 },
      "begin",
      null,
      { ...own, generation: 0 },
    ],
    ["at its own place goes on", { generation: 3, from: null, kept: 3 }, "resume", as(ours), own],
    [
      "at its own place goes on where it is not whole yet",
      { generation: 3, from: 2, kept: 1 },
      "resume",
      as({ ...ours, from: 2, kept: 1 }),
      { ...own, generation: 1 },
    ],
    [
      "that was given up goes on at another place",
      { generation: 3, from: null, kept: 3 },
      "resume",
      as({ ...copys, ended: true }),
      own,
    ],
    [
      "of a silent copy is followed by the next",
      { generation: 4, from: 3, kept: 3 },
      "resume",
      as(copys),
      own,
    ],
    [
      "of a silent copy that is not whole is not what is restored",
      { generation: 4, from: 2, kept: 3 },
      "resume",
      as({ ...copys, from: 2 }),
      own,
    ],
    [
      "of a silent copy that never began has nothing to restore",
      { generation: 4, from: null, kept: null },
      "resume",
      as({ ...copys, installation: null }),
      none,
    ],
    [
      "whose take-over has failed is taken again by the disk that it was to restore",
      { generation: 4, from: 3, kept: 3 },
      "resume",
      as(failed),
      own,
    ],
    [
      "… and by a copy, for nothing was written there",
      { generation: 4, from: 3, kept: null },
      "take",
      as(failedOurs),
      none,
    ],
    [
      "of a machine that fell silent while it took over is followed by the next",
      { generation: 5, from: 3, kept: 3 },
      "resume",
      as(taken),
      own,
    ],
    ["of another machine is restored", { generation: 4, from: 3, kept: null }, "take", as(theirs), none],
    [
      "of a service that ran alone is kept, whatever it was",
      { generation: 1, from: 0, kept: 0 },
      "resume",
      { lease: { ...ours, generation: 0, ended: true }, isLease: false },
      { ...own, generation: 0 },
    ],
  ];
  for (const [what, next, ...given] of generations)
    test(`generation: one ${what}`, () => {
      expect(successionOf(...given)).toEqual(next);
    });

  test("the silence is longer than a lease by clocks that differ by a quarter", () => {
    expect(SILENCE_MS).toBeGreaterThan(LEASE_MS * 1.25);
  });
});
