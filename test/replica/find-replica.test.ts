/** Which replica a start means, and what it is refused for. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { findReplica } from "../../src/replica/find-replica.ts";
import { Replica } from "../../src/replica/replica.ts";
import { type FakeLitestream, Home, Writer } from "./kit.ts";

let home: Home;
let dir = "";
let env: Home["env"];
let control: FakeLitestream;

beforeEach(() => {
  home = new Home();
  ({ dir, env, control } = home);
});

afterEach(() => home.remove());

describe("a replica that is meant", () => {
  test("is found by Litestream's socket in the data directory, and by nothing else", async () => {
    expect(await findReplica(dir, {}, new Writer().holder)).toBeNull();
    control.listen(join(dir, "sealpost.db"));
    expect(await findReplica(dir, {}, new Writer().holder)).toBeInstanceOf(Replica);
  });

  test("and not made is refused, with both directories and an example", async () => {
    const refused = findReplica(dir, env, new Writer().holder).catch(String);
    expect(await refused).toMatch(/SEALPOST_DATA_DIR is .*\/data, and nobody replicates .*for example/);
    control.listen("/elsewhere/sealpost.db");
    expect(await findReplica(dir, {}, new Writer().holder).catch(String)).toContain(
      "replicates /elsewhere/sealpost.db",
    );
  });
});
