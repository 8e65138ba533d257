import type { Answer, RequestContext } from "./route.ts";

interface Change<Made> {
  /** Inside the transaction; may run again after a rollback. */
  write: () => Made;
  /** What is answered, and kept for the request's Idempotency-Key; inside the transaction too. */
  answer: (made: Made) => Answer;
  /** After the fsync: what was written takes effect in memory. */
  remember: (made: Made) => void;
}

/** One durable change together with its answer, which then takes effect. */
export async function commitChange<Made>(
  context: Pick<RequestContext, "commit">,
  { write, answer, remember }: Change<Made>,
): Promise<Answer> {
  const last: { made?: Made } = {};
  const answered = await context.commit(() => {
    last.made = write();
    return answer(last.made);
  });
  if ("made" in last) remember(last.made);
  return answered;
}
