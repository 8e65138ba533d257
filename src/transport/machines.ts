/** Machines of cells, as they are asked by whoever works for their operator. */

export interface MachineAsk {
  method?: "GET" | "POST";
  /** The operator's. */
  token?: string;
  body?: object;
  timeoutMs: number;
}

/** Asks a machine (`host:port`) over HTTP, by no proxy. Rejects where it does not answer in time. */
export function askMachine(
  machine: string,
  path: string,
  { method = "GET", token, body, timeoutMs }: MachineAsk,
): Promise<Response> {
  return fetch(`http://${machine}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(timeoutMs),
    redirect: "error",
    proxy: false,
  });
}
