import type { JSX } from "preact";
import type { Fault } from "../../api.ts";

/** What the API said of rows, in its words. */
export function Faults({ faults }: { faults: readonly Fault[] }): JSX.Element {
  return (
    <>
      {faults.map(({ pointer, detail }) => (
        <p key={pointer + detail} class="field-error" role="alert">
          {detail}
        </p>
      ))}
    </>
  );
}
