import type { ComponentChildren, JSX } from "preact";

export interface Column<Row> {
  /** Its heading; on a narrow page it stands before the value. */
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** Numbers and times line up at the end. */
  align?: "end";
  /** Left out where the list is narrow because a detail stands beside it. */
  wide?: boolean;
  /** On a card it stands beside the first cell, as a state does. */
  lead?: boolean;
  /** Left out of a card. */
  extra?: boolean;
  /** Stands before the cell that is the link, such as a check box; `head` is its heading. */
  before?: { head: ComponentChildren };
}

interface TableProps<Row> {
  /** Read by screen readers. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Where a row leads: its first cell is the link, and the whole row takes the click. */
  href?: (row: Row) => string;
  /** Key of the row whose detail is open. */
  current?: string | null;
}

/** A table, and below 680 px of its own width a card for each row. */
export function Table<Row>({ caption, columns, rows, keyOf, href, current }: TableProps<Row>): JSX.Element {
  const linked = columns.findIndex(({ before }) => !before);
  return (
    <div class="table-frame">
      <table class="table">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.before ? column.before.head : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={current === keyOf(row) ? "chosen" : undefined}>
              {columns.map((column, at) => (
                <td key={column.title} data-title={column.title} class={classOf(column)}>
                  {at === linked && href ? (
                    <a
                      class="row-link"
                      href={href(row)}
                      data-row
                      aria-current={current === keyOf(row) ? "true" : undefined}
                    >
                      {column.cell(row)}
                    </a>
                  ) : (
                    <span class="value">{column.cell(row)}</span>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf({
  align,
  wide,
  lead,
  extra,
  before,
}: Omit<Column<never>, "title" | "cell">): string | undefined {
  const names = [align, wide && "wide", lead && "lead", extra && "extra", before && "before"].filter(Boolean);
  return names.length === 0 ? undefined : names.join(" ");
}
