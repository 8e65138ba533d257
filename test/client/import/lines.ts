/** Records as a file of them has them. */

export const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/** One JSON object a line. */
export function lines(...records: object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join("");
}

/** The record of an endpoint. */
export function endpoint(id: string, more: object = {}): object {
  return {
    ...{ record: "endpoint", id, consumer_id: "cust_7", url: `http://127.0.0.1:9/${id}`, secret: SECRET },
    ...more,
  };
}
