import { readFileSync } from "node:fs";

/**
 * What sockets take, at most, of the files that the process may open: those of attempts and of idle
 * connections together, and those of polls that wait. What is left is for connections that come in, which
 * only the proxy in front can bound: Bun accepts them by itself, and shows a request once its head is whole.
 */
const SHARES = { attempts: 0.6, polls: 0.2 };

/** As many as `max`, or fewer where the process may open few files. */
export function shareOfFiles(of: keyof typeof SHARES, max: number): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const files = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 1024);
  return Math.min(max, Math.floor(files * SHARES[of]));
}
