/**
 * Whether a command that a test drives is installed, for `test.skipIf(!requireTool(…))`. In CI (`CI=true`) a
 * missing one is an error, as `.ci/run` installs what it needs; elsewhere the skip is named, with the command
 * that ends it.
 */
export function requireTool(name: string, installHint: string): boolean {
  if (Bun.which(name) !== null) return true;
  const problem = `${name} is not installed: ${installHint}`;
  if (process.env["CI"] === "true") throw new Error(problem);
  console.error(`skipping tests: ${problem}`);
  return false;
}
