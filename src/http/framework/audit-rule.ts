import type { AuditObject } from "../../core/audit.ts";

/** How a change by a route stands in the audit log. */
export interface AuditRule {
  /** Such as `endpoint.updated`. */
  action: string;
  object: AuditObject;
  /** Fields of the body that are kept as they were sent, where no answer shows them. */
  fields?: readonly string[];
  /**
   * True: done however much its caller has changed. Only what takes rights away, once for each thing that was
   * made: it is how the changes of a key that was stolen are stopped.
   */
  isNeverRefused?: true;
}

/** What the entry of a change holds beyond what request and answer say of it. */
export interface AuditNote {
  /** Default: the answer's `id`, or the one in the path. */
  objectId?: string;
  /** The object as the API shows it before the change; without it, what was sent counts as new. */
  before?: unknown;
  /** As the API shows it now, default the answer; null: it is gone. */
  after?: unknown;
  /** The consumer whose data the change may show; default: whose the object was, else whose it is. */
  consumerId?: string | null;
  /** Where the operator changes something: the account or the project that hears of it. */
  scope?: number;
}
