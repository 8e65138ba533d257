/** What is left of a budget of steps; below zero it is used up. A step is some 10 ns. */
export interface Budget {
  stepsLeft: number;
}
