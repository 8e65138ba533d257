/** Before a move the other cell has to wait, and the accounts have to live in one cell. */
import { afterAll, describe, expect, test } from "bun:test";
import { moveAccounts } from "../../src/cells/move.ts";
import { WAITS_AS } from "../../src/cells/take.ts";

type Answers = Readonly<Record<string, object>>;

const servers: Bun.Server<undefined>[] = [];
afterAll(() => Promise.all(servers.map((server) => server.stop(true))));

/** A machine that answers these paths, and everything else with 404; answers where it is. */
function machine(answers: Answers, asked: string[] = []): string {
  const fetch = async (request: Request) => {
    const { pathname } = new URL(request.url);
    asked.push(`${request.method} ${pathname}`, await request.text());
    const answer = answers[pathname];
    return answer === undefined ? new Response("{}", { status: 404 }) : Response.json(answer);
  };
  const server = Bun.serve({ port: 0, fetch });
  servers.push(server);
  return `127.0.0.1:${server.port}`;
}

const path = (id: string) => `/v1/operator/accounts/${id}`;
const here = { moved_to: null };
const waiting = { [WAITS_AS]: "2B", installation: "i", taker: "t" };

function move(old: Answers, next: Answers, asked: string[] = [], accounts = ["acct_a"]) {
  const cells = [
    { cell: "1A", machines: [machine(old, asked)] },
    { cell: "2B", machines: [machine(next)] },
  ];
  return moveAccounts({ cells, token: "t", accounts, to: "2B" });
}

describe("a move is not begun", () => {
  test("where the other cell does not wait for accounts, or has no copy", async () => {
    const asked: string[] = [];
    const old = { [path("acct_a")]: here };
    await expect(move(old, { "/readyz": {} }, asked)).rejects.toThrow("No machine of cell 2B waits");
    await expect(move(old, { "/readyz": { [WAITS_AS]: "3C" } }, asked)).rejects.toThrow(
      "No machine of cell 2B",
    );
    await expect(move(old, { "/readyz": { status: "ready" } }, asked)).rejects.toThrow(
      "Cell 2B has begun already",
    );
    const empty = { "/readyz": { ...waiting, installation: null } };
    await expect(move(old, empty, asked)).rejects.toThrow("has no copy yet");
    expect(asked.filter((one) => one.startsWith("POST"))).toEqual([]);
  });

  test("to two machines that wait as one cell, which would both take them", async () => {
    const old = { [path("acct_a")]: here };
    const machines = ["t", "u"].map((taker) => machine({ "/readyz": { ...waiting, taker } }));
    const cells = [
      { cell: "1A", machines: [machine(old)] },
      { cell: "2B", machines },
    ];
    const moving = moveAccounts({ cells, token: "t", accounts: ["acct_a"], to: "2B" });
    await expect(moving).rejects.toThrow("Two machines of cell 2B wait");
  });

  test("where two cells of the list are one machine", async () => {
    const one = machine({ [path("acct_a")]: here, "/v1/operator/moves": {} });
    const cells = [
      { cell: "1A", machines: [one] },
      { cell: "2B", machines: [one.replace("127.0.0.1", "localhost")] },
    ];
    const moving = moveAccounts({ cells, token: "t", accounts: ["acct_a"], to: "2B" });
    await expect(moving).rejects.toThrow("Cells 1A and 2B both say");
  });

  test("of an account that nobody has, or that has left, or of accounts in several cells", async () => {
    const next = { "/readyz": waiting, [path("acct_b")]: here };
    await expect(move({}, next)).rejects.toThrow("No cell that answers has the account acct_a");
    await expect(move({ [path("acct_a")]: { moved_to: "3C" } }, next)).rejects.toThrow(
      "No cell that answers",
    );
    const third = { cell: "3C", machines: [machine({ [path("acct_b")]: here })] };
    const cells = [
      { cell: "1A", machines: [machine({ [path("acct_a")]: here })] },
      { cell: "2B", machines: [machine(next)] },
      third,
    ];
    const both = moveAccounts({ cells, token: "t", accounts: ["acct_a", "acct_b"], to: "2B" });
    await expect(both).rejects.toThrow("live in different cells");
    await expect(moveAccounts({ cells: [], token: "t", accounts: ["acct_a"], to: "9Z" })).rejects.toThrow(
      "no cell 9Z",
    );
  });
});

test("it is told how long it took until the other cell answered for them", async () => {
  const old = { [path("acct_a")]: here, "/v1/operator/moves": {} };
  const next: Record<string, object> = { "/readyz": waiting };
  const asked: string[] = [];
  setTimeout(() => (next[path("acct_a")] = here), 300);
  const { from, to, seconds } = await move(old, next, asked);
  expect([from, to, seconds >= 0.2]).toEqual(["1A", "2B", true]);
  const body = asked[asked.indexOf("POST /v1/operator/moves") + 1] ?? "";
  expect(JSON.parse(body)).toMatchObject({ accounts: ["acct_a"], cell: "2B", installation: "i", taker: "t" });
});

test("said again it goes on where it was, and tells the old cell the machines", async () => {
  const asked: string[] = [];
  const left = { [path("acct_a")]: { moved_to: "2B" } };
  const moved = { ...left, "/v1/operator/moves": {} };
  const at = { [path("acct_a")]: here };
  expect(await move(moved, at, asked)).toMatchObject({ from: "1A", to: "2B" });
  expect(asked).toContain("POST /v1/operator/moves");
  // The answer was lost, and the accounts have left.
  expect(await move(left, at)).toMatchObject({ from: "1A" });
});
