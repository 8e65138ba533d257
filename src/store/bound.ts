/**
 * The n-th parameter of a statement, a number, hidden from SQLite's planner. Where it looks at what is bound
 * (a LIMIT, or a column's equal beside ORDER BY) the statement is compiled anew each time that another value
 * is bound: 3 to 20 µs, where a look-up takes 0.3 (`sqlite3ExprIsInteger` in SQLite's expr.c; what would turn
 * it off, SQLITE_DBCONFIG_ENABLE_QPSG, cannot be reached from Bun).
 */
export function bound(nth: number): string {
  return `(?${nth} + 0)`;
}
