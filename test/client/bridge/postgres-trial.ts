/** An outbox in PostgreSQL. */
import { tableText } from "../../../src/client/bridge/sources/postgres.ts";
import { Postgres } from "../../kit/postgres.ts";
import type { Trial } from "./trial.ts";

export async function startPostgresTrial(): Promise<Trial & { postgres: Postgres }> {
  const postgres = await Postgres.start();
  const { sql } = postgres;
  await sql.unsafe(tableText("sealpost_outbox"));
  const insert = async (count: number) => {
    const rows = await sql<{ external_id: string }[]>`
      INSERT INTO sealpost_outbox (type, data)
      SELECT 'invoice.paid', jsonb_build_object('n', n) FROM generate_series(1, ${count}::int) AS n RETURNING external_id`;
    return rows.map(({ external_id: id }) => id);
  };
  return {
    postgres,
    load: 350,
    words: ["postgres", "--interval", "0.1"],
    env: { DATABASE_URL: postgres.url },
    /** Many transactions at once, so that identities are committed in another order. */
    async write(count) {
      const parts = Array.from({ length: Math.ceil(count / 10) }, (_, at) => Math.min(10, count - 10 * at));
      return (await Promise.all(parts.map(insert))).flat();
    },
    async left() {
      const [row] = await sql<
        { count: string }[]
      >`SELECT count(*) FROM sealpost_outbox WHERE failed_at IS NULL`;
      return Number(row?.count);
    },
    kill9: () => postgres.kill9(),
    restart: () => postgres.restart(),
    [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
  };
}
