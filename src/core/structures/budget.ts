/** What is left of a budget of steps; below zero it is used up. A step is some 10 ns. */
export interface Budget {
  stepsLeft: number;
}

/** Characters that two texts are compared by in a step. */
const COMPARED_A_STEP = 16;

/** What it takes to compare a text of this length with its like, also where a map or a set looks it up. */
export function stepsToCompare(length: number): number {
  return Math.floor(length / COMPARED_A_STEP);
}
