/**
 * What one looks things up in: loaded together, as each lazy file more cuts what is shared into
 * smaller pieces.
 */
export { EventTypes } from "./event-types.tsx";
export { Verify } from "./verify.tsx";
