/**
 * A receiver in a process of its own: it outlives the service's crashes, and its records are nobody else's.
 *
 * Started with an IPC channel and the endpoints' secret as its argument. It sends `{port}` once it listens,
 * and ends with its parent. What a path answers stands in its query:
 *
 * | query              | answer                                                                    |
 * |--------------------|---------------------------------------------------------------------------|
 * | none               | 204 at once                                                               |
 * | `delay_ms=400`     | 204 after 400 ms                                                          |
 * | `refuse_one_in=5`  | 500 to the first request of every fifth message, else 204                 |
 * | `status=500`       | that status                                                               |
 * | `retry_after=1800` | with that header                                                          |
 * | `hang`             | nothing                                                                   |
 * | `hang_first`       | nothing to the first request of a message, else 204                       |
 *
 * `GET /-/receipts` answers what came, in order; `GET /-/counts` the numbers of each path;
 * `GET /-/received?path=/slow&count=3&within_ms=1000` how many came to one, once they are so many.
 */
import { Webhook } from "standardwebhooks";
import type { PathCounts, Receipt } from "../kit/recorder.ts";

const webhook = new Webhook(process.argv[2] ?? "");
const receipts: Receipt[] = [];
const counts = new Map<string, PathCounts>();
/** Messages by path, so that every n-th one is told from the others. */
const messages = new Map<string, Set<string>>();
/** Who waits for requests to a path. */
const waiting = new Set<() => void>();

async function receive(request: Request, url: URL): Promise<Response> {
  const body = await request.text();
  const receipt = keep(url.pathname, request, body);
  const isNew = isFirst(url.pathname, receipt.id);
  const count = countsOf(url.pathname);
  count.received++;
  count.open++;
  count.openMax = Math.max(count.openMax, count.open);
  for (const look of waiting) look();
  request.signal.addEventListener("abort", () => {
    if (receipt.answeredAt === null) count.open--;
  });
  const status = await answer(url, isNew);
  if (!request.signal.aborted) {
    count.open--;
    receipt.answeredAt = Date.now();
    receipt.status = status;
  }
  const retryAfter = url.searchParams.get("retry_after");
  return new Response(null, { status, headers: retryAfter === null ? {} : { "retry-after": retryAfter } });
}

function keep(path: string, request: Request, body: string): Receipt {
  const receipt: Receipt = {
    path,
    id: request.headers.get("webhook-id") ?? "",
    token: (JSON.parse(body) as { data: { token?: string } }).data.token ?? "",
    digest: new Bun.CryptoHasher("sha256").update(body).digest("base64"),
    isSigned: isSigned(request, body),
    at: Date.now(),
    answeredAt: null,
    status: null,
  };
  receipts.push(receipt);
  return receipt;
}

function isSigned(request: Request, body: string): boolean {
  try {
    webhook.verify(body, Object.fromEntries(request.headers));
    return true;
  } catch {
    return false;
  }
}

function isFirst(path: string, id: string): boolean {
  const seen = messages.get(path) ?? new Set<string>();
  messages.set(path, seen);
  const isNew = !seen.has(id);
  seen.add(id);
  return isNew;
}

function countsOf(path: string): PathCounts {
  const known = counts.get(path) ?? { received: 0, open: 0, openMax: 0 };
  counts.set(path, known);
  return known;
}

async function answer({ pathname, searchParams }: URL, isNew: boolean): Promise<number> {
  if (searchParams.has("hang") || (isNew && searchParams.has("hang_first"))) await new Promise(() => {});
  const delayMs = Number(searchParams.get("delay_ms") ?? 0);
  if (delayMs > 0) await Bun.sleep(delayMs);
  const oneIn = Number(searchParams.get("refuse_one_in") ?? 0);
  if (oneIn > 0 && isNew && (messages.get(pathname)?.size ?? 0) % oneIn === 0) return 500;
  return Number(searchParams.get("status") ?? 204);
}

async function received({ searchParams }: URL): Promise<Response> {
  const path = searchParams.get("path") ?? "";
  const wanted = Number(searchParams.get("count"));
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => void (countsOf(path).received >= wanted && resolve());
  const timer = setTimeout(resolve, Number(searchParams.get("within_ms")));
  waiting.add(look);
  look();
  await promise;
  clearTimeout(timer);
  waiting.delete(look);
  return Response.json({ received: countsOf(path).received });
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  fetch(request) {
    const url = new URL(request.url);
    if (url.pathname === "/-/receipts") return Response.json(receipts);
    if (url.pathname === "/-/received") return received(url);
    if (url.pathname === "/-/counts") return Response.json(Object.fromEntries(counts));
    return receive(request, url);
  },
});
process.on("disconnect", () => process.exit(0));
process.send?.({ port: server.port });
