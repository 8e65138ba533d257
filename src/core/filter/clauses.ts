import type { Budget } from "../structures/budget.ts";
import type { Operator, Subject, Test } from "./operators.ts";
import { excerpt, isObject, type Json, ownField } from "../json/value.ts";

/**
 * One compiled part of a filter. Both judge the same, and take steps from the budget; once that is used up,
 * what they answer means nothing. `holds` allocates nothing; `explain` says which clause said no, and is null
 * where the clause holds.
 */
export interface Clause {
  holds(subject: Subject, budget: Budget): boolean;
  explain(subject: Subject, budget: Budget): string | null;
}

/**
 * Where a clause stands: its pointer in the filter, and whether an array as its subject is looked at element
 * by element. Elements are looked at one level deep: a clause that judges an element does not spread again.
 */
export interface Place {
  pointer: string;
  spread: boolean;
}

/**
 * An operator with its operand. Over an array a positive one is true when the whole or any element
 * satisfies it.
 */
export class Comparison implements Clause {
  readonly #test: Test;
  readonly #spread: boolean;
  readonly #complement: boolean;

  constructor(
    operator: Operator,
    readonly operand: Json,
    readonly pointer: string,
    spread: boolean,
  ) {
    this.#test = operator.test(operand);
    this.#spread = spread;
    this.#complement = operator.complement === true;
  }

  holds(subject: Subject, budget: Budget): boolean {
    budget.stepsLeft--;
    if (this.#test(subject, budget)) return !this.#complement;
    if (!this.#spread || !Array.isArray(subject)) return this.#complement;
    for (const element of subject) {
      if (--budget.stepsLeft < 0) break;
      if (this.#test(element, budget)) return !this.#complement;
    }
    return this.#complement;
  }

  explain(subject: Subject, budget: Budget): string | null {
    if (this.holds(subject, budget)) return null;
    const found = subject === undefined ? "the field is missing" : `the value is ${excerpt(subject)}`;
    return `${this.pointer} said no: it asks for ${excerpt(this.operand)}, ${found}.`;
  }
}

/**
 * A field's name with the clause that judges its value; a missing field, or one of no object, is undefined.
 */
export class Field implements Clause {
  constructor(
    readonly name: string,
    readonly clause: Clause,
  ) {}

  holds(subject: Subject, budget: Budget): boolean {
    budget.stepsLeft--;
    return this.clause.holds(this.#valueIn(subject), budget);
  }

  explain(subject: Subject, budget: Budget): string | null {
    budget.stepsLeft--;
    return this.clause.explain(this.#valueIn(subject), budget);
  }

  #valueIn(subject: Subject): Subject {
    return isObject(subject) ? ownField(subject, this.name) : undefined;
  }
}

/** True when every clause holds for the subject. */
export class All implements Clause {
  constructor(readonly clauses: readonly Clause[]) {}

  holds(subject: Subject, budget: Budget): boolean {
    for (const clause of this.clauses) {
      if (budget.stepsLeft < 0 || !clause.holds(subject, budget)) return false;
    }
    return true;
  }

  explain(subject: Subject, budget: Budget): string | null {
    for (const clause of this.clauses) {
      const explanation = clause.explain(subject, budget);
      if (explanation !== null || budget.stepsLeft < 0) return explanation;
    }
    return null;
  }
}

/** All of the clauses, without a step between where there is only one. */
export function allOf(clauses: readonly Clause[]): Clause {
  return clauses.length === 1 && clauses[0] !== undefined ? clauses[0] : new All(clauses);
}

/** True when one clause holds for the subject. */
export class Any implements Clause {
  constructor(
    readonly clauses: readonly Clause[],
    readonly pointer: string,
  ) {}

  holds(subject: Subject, budget: Budget): boolean {
    for (const clause of this.clauses) {
      if (budget.stepsLeft < 0) break;
      if (clause.holds(subject, budget)) return true;
    }
    return false;
  }

  explain(subject: Subject, budget: Budget): string | null {
    if (this.holds(subject, budget)) return null;
    return `${this.pointer} said no: none of its ${this.clauses.length} clauses holds.`;
  }
}

/** True exactly where the clause is false. */
export class Not implements Clause {
  constructor(
    readonly clause: Clause,
    readonly pointer: string,
  ) {}

  holds(subject: Subject, budget: Budget): boolean {
    return !this.clause.holds(subject, budget);
  }

  explain(subject: Subject, budget: Budget): string | null {
    return this.holds(subject, budget) ? null : `${this.pointer} said no: what it denies holds.`;
  }
}

/** An object of field names: over an array true when one element satisfies all of it. */
export class SomeElement implements Clause {
  constructor(
    readonly clause: Clause,
    readonly pointer: string,
  ) {}

  holds(subject: Subject, budget: Budget): boolean {
    if (!Array.isArray(subject)) return this.clause.holds(subject, budget);
    for (const element of subject) {
      if (budget.stepsLeft < 0) break;
      if (this.clause.holds(element, budget)) return true;
    }
    return false;
  }

  explain(subject: Subject, budget: Budget): string | null {
    if (!Array.isArray(subject)) return this.clause.explain(subject, budget);
    if (this.holds(subject, budget)) return null;
    return `${this.pointer} said no: none of the ${subject.length} elements satisfies all of it.`;
  }
}
