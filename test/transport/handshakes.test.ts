import { expect, test } from "bun:test";
import fc from "fast-check";
import { Handshakes, type Berth, type BerthSeeker } from "../../src/transport/handshakes.ts";

const MAX = 64;
const LAST = MAX / 32;

/** What happens to one of the accounts: it asks, and waits where there is none; one of its own ends. */
const step = fc.record({ account: fc.nat(4), does: fc.constantFrom("ask", "ask", "leave", "end") });

test("no more berths are held than there are, none by an account with its part, and none is lost", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
      const handshakes = new Handshakes(MAX);
      const held = new Map<string, Berth[]>();
      const waiting = new Map<string, Set<BerthSeeker>>();
      const heldBy = (account: string) => held.getOrInsertComputed(account, () => []);
      const waitingOf = (account: string) => waiting.getOrInsertComputed(account, () => new Set());
      const total = () => [...held.values()].reduce((sum, { length }) => sum + length, 0);
      const seek = (account: string) => {
        const seeker = {
          account,
          onBerth(berth: Berth) {
            waitingOf(account).delete(seeker);
            heldBy(account).push(berth);
          },
        };
        waitingOf(account).add(seeker);
        handshakes.wait(seeker);
      };
      for (const { account: number, does } of steps) {
        const account = String(number);
        const own = heldBy(account).length;
        if (does === "ask") {
          const berth = handshakes.take(account);
          const free = MAX - total();
          expect(berth !== null).toBe(own === 0 ? free > 0 : free > LAST && own < free);
          if (berth) heldBy(account).push(berth);
          else seek(account);
        }
        const [first] = waitingOf(account);
        if (does === "leave" && first) {
          waitingOf(account).delete(first);
          handshakes.leave(first);
        }
        const berth = does === "end" ? heldBy(account).shift() : undefined;
        if (!berth) continue;
        berth.giveBack();
        berth.giveBack();
        const free = MAX - total();
        for (const [name, line] of waiting) {
          const has = heldBy(name).length;
          if (line.size > 0) expect(has === 0 ? free > 0 : free > LAST && has < free).toBe(false);
        }
      }
      expect(total()).toBeLessThanOrEqual(MAX);
    }),
  );
});
