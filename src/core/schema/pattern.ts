import type { Budget } from "../structures/budget.ts";
import { CharacterSet, WORD } from "./charset.ts";
import { type Assertion, parsePattern, type PatternNode } from "./pattern-parser.ts";

/** A compiled pattern. It searches in steps that are at most the text's length times the pattern's states. */
export interface Pattern {
  /**
   * True where the pattern matches somewhere in the text. Takes its steps from the budget; false once that is
   * used up.
   */
  foundIn(text: string, budget: Budget): boolean;
}

/**
 * How many states may still be made; shared by the patterns of one schema, as counted repetition
 * multiplies them.
 */
export interface StateRoom {
  statesLeft: number;
}

export type CompiledPattern = { ok: true; pattern: Pattern } | { ok: false; detail: string };

/**
 * Compiles a pattern to a machine that is in all its states at once (Thompson's construction), so that no
 * text makes it go back. The built-in engine is not used: JavaScriptCore gives up on a hostile pattern after
 * some 0.3 s and then answers `false` in silence, also where the text matches.
 */
export function compilePattern(source: string, room: StateRoom): CompiledPattern {
  const parsed = parsePattern(source);
  if (!parsed.ok) return parsed;
  const start = build(parsed.node, new State("match"), room);
  if (room.statesLeft < 0)
    return { ok: false, detail: "The patterns of this schema are too large together." };
  return { ok: true, pattern: new Machine(start) };
}

/**
 * One state. A fork goes on to `next` and to `other`; a state that takes a character goes on to `next`
 * after it.
 */
class State {
  codePoint = 0;
  set: CharacterSet | null = null;
  at: Assertion = "start";
  next: State | null = null;
  other: State | null = null;
  /** The last round in which the machine entered this state. */
  round = 0;

  constructor(readonly kind: PatternNode["kind"] | "fork" | "match") {}
}

/** The first state of a machine that matches the node and then goes on to `next`. */
function build(node: PatternNode, next: State, room: StateRoom): State {
  if (--room.statesLeft < 0) return next;
  if (node.kind === "sequence")
    return node.parts.reduceRight((after, part) => build(part, after, room), next);
  if (node.kind === "choice")
    return node.options.map((option) => build(option, next, room)).reduceRight(fork);
  if (node.kind === "repeat") return buildRepeat(node, next, room);
  const state = new State(node.kind);
  state.next = next;
  if (node.kind === "character") state.codePoint = node.codePoint;
  else if (node.kind === "set") state.set = node.set;
  else state.at = node.at;
  return state;
}

function fork(other: State, next: State): State {
  const state = new State("fork");
  state.next = next;
  state.other = other;
  return state;
}

/** The part as often as it must be, then as often as it may be: a loop, or copies that can each be left. */
function buildRepeat(node: PatternNode & { kind: "repeat" }, next: State, room: StateRoom): State {
  if (node.max === Infinity) return buildLoop(node.part, node.min, next, room);
  let entry = next;
  for (let optional = node.max - node.min; optional > 0 && room.statesLeft >= 0; optional--) {
    entry = fork(next, build(node.part, entry, room));
  }
  return buildCopies(node.part, node.min, entry, room);
}

function buildLoop(part: PatternNode, min: number, next: State, room: StateRoom): State {
  const loop = fork(next, next);
  const again = build(part, loop, room);
  loop.next = again;
  return min === 0 ? loop : buildCopies(part, min - 1, again, room);
}

function buildCopies(part: PatternNode, count: number, next: State, room: StateRoom): State {
  let entry = next;
  for (let copies = count; copies > 0 && room.statesLeft >= 0; copies--) entry = build(part, entry, room);
  return entry;
}

/** Stands for the character before the first and after the last one. */
const NONE = -1;

class Machine implements Pattern {
  readonly #start: State;
  #round = 0;
  /** States that are still to be entered; empty between two calls. */
  readonly #waiting: State[] = [];

  constructor(start: State) {
    this.#start = start;
  }

  foundIn(text: string, budget: Budget): boolean {
    const isAnchored = this.#start.kind === "assertion" && this.#start.at === "start";
    let active: State[] = [];
    let entered: State[] = [];
    let current = codePointAt(text, 0);
    this.#round++;
    if (budget.stepsLeft < 0) return false;
    if (this.#enter(this.#start, NONE, current, active, budget)) return true;
    for (let at = 0; current !== NONE && budget.stepsLeft >= 0; ) {
      if (isAnchored && active.length === 0) return false;
      at += current > 0xffff ? 2 : 1;
      const following = codePointAt(text, at);
      this.#round++;
      for (const state of active) {
        if (!takes(state, current, budget) || state.next === null) continue;
        if (this.#enter(state.next, current, following, entered, budget)) return true;
      }
      if (!isAnchored && this.#enter(this.#start, current, following, entered, budget)) return true;
      [active, entered] = [entered, active];
      entered.length = 0;
      current = following;
    }
    return false;
  }

  /** Enters a state and all that follow it without taking a character; true when one of them is the match. */
  #enter(first: State, before: number, after: number, entered: State[], budget: Budget): boolean {
    const waiting = this.#waiting;
    waiting.push(first);
    for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
      budget.stepsLeft--;
      if (state.round === this.#round) continue;
      state.round = this.#round;
      if (state.kind === "match") {
        waiting.length = 0;
        return true;
      }
      if (state.kind === "character" || state.kind === "set") entered.push(state);
      else if (state.kind === "fork" || holds(state.at, before, after)) this.#wait(state);
    }
    return false;
  }

  #wait(state: State): void {
    if (state.other !== null) this.#waiting.push(state.other);
    if (state.next !== null) this.#waiting.push(state.next);
  }
}

function codePointAt(text: string, at: number): number {
  return text.codePointAt(at) ?? NONE;
}

function takes(state: State, codePoint: number, budget: Budget): boolean {
  budget.stepsLeft -= state.set?.steps ?? 1;
  return state.set === null ? state.codePoint === codePoint : state.set.has(codePoint);
}

/** Whether an anchor holds between two characters. */
function holds(at: Assertion, before: number, after: number): boolean {
  if (at === "start") return before === NONE;
  if (at === "end") return after === NONE;
  return (isWordCharacter(before) !== isWordCharacter(after)) === (at === "boundary");
}

const WORD_CHARACTERS = new CharacterSet(WORD);

function isWordCharacter(codePoint: number): boolean {
  return WORD_CHARACTERS.has(codePoint);
}
