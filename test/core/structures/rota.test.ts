import { expect, test } from "bun:test";
import { Rota } from "../../../src/core/structures/rota.ts";

const order = (rota: Rota) => [...rota.members()].join(" ");

test("accounts take turns, and in them their members, until none goes on", () => {
  const rota = new Rota();
  for (const member of [10, 11, 12]) rota.add(1, member);
  rota.add(2, 20);
  rota.add(1, 10);
  expect(order(rota)).toBe("10 20 11 12");
  const left = new Map([10, 11, 12, 20].map((member) => [member, 2]));
  const turns: number[] = [];
  while (!rota.isEmpty) {
    const [first = 0] = rota.members();
    turns.push(first);
    left.set(first, (left.get(first) ?? 0) - 1);
    rota.pass(first, left.get(first) !== 0);
  }
  expect(turns.join(" ")).toBe("10 20 11 20 12 10 11 12");
});

test("who is passed over keeps the place, and who has left takes no turn", () => {
  const rota = new Rota();
  for (const member of [10, 11]) rota.add(1, member);
  rota.add(2, 20);
  rota.pass(11, true);
  expect(order(rota)).toBe("20 10 11");
  rota.pass(10, false);
  rota.pass(10, true);
  expect(order(rota)).toBe("20 11");
  rota.add(1, 10);
  expect(order(rota)).toBe("20 11 10");
});
