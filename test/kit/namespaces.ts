/**
 * Whether a command that makes namespaces may run here. A kernel, or a user, that may not is a named skip, in
 * CI as well.
 */
export function mayMakeNamespaces(probe: readonly string[]): boolean {
  const { exitCode } = Bun.spawnSync([...probe]);
  if (exitCode !== 0) console.error("skipping tests: namespaces are refused here (run as root)");
  return exitCode === 0;
}
