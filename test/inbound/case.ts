import type { InboundRequest, SourceMaterial } from "../../src/inbound/provider.ts";
import type { Near } from "./near.ts";

/** How one row of the table is proven. */
export interface ProviderCase {
  /**
   * Two secrets in the form in which a customer enters them; `sign` is given either. Empty where there is
   * nothing to enter.
   */
  readonly secrets: readonly [string, string] | readonly [];
  /** Of the same provider's other sources, by which the genuine request is proven too. */
  readonly otherSecrets?: readonly string[];
  readonly credentials?: Readonly<Record<string, string>>;
  readonly config?: Readonly<Record<string, unknown>>;
  /**
   * A genuine request of this instant: signed by the provider's own code, else computed here anew from
   * its documentation. Its body holds every secret, token and signature that the provider documents in one.
   */
  sign(secret: string, nowMs: number): InboundRequest | Promise<InboundRequest>;
  /** True where `sign` calls the provider's own code. */
  readonly isSignedBySdk?: boolean;
  /**
   * The provider's own verifier, where it can only verify: it must say true to the genuine and false to an
   * altered request.
   */
  accepts?(request: InboundRequest, secret: string, nowMs: number): boolean | Promise<boolean>;
  /** Requests as published, with what they were signed with. */
  readonly vectors?: readonly Vector[];
  /**
   * Headers without which the request is refused as `missing_header`; a changed character in any of them
   * is refused.
   */
  readonly requiredHeaders: readonly string[];
  /**
   * False where the body as a whole is not what is signed; `alterations` then change what is. Default true.
   */
  readonly isBodySigned?: boolean;
  /** The provider signs nothing: only its address protects the source (Mailchimp). */
  readonly isUnsigned?: boolean;
  /** Changes that its proof does not notice, where those of every walk cannot show it. */
  readonly uncovered?: (request: InboundRequest) => readonly InboundRequest[];
  /** The signed text cut elsewhere, so that the proof holds of other parts: none may be another event. */
  readonly recut?: (request: InboundRequest) => readonly InboundRequest[];
  /** Further changes, each of which must be refused. */
  readonly alterations?: readonly ((request: InboundRequest) => InboundRequest)[];
  /** The window in seconds, where a timestamp is signed. */
  readonly window?: { readonly past: number; readonly future: number };
  /** The time that is signed is the event's, and the same at each try; else each try is signed anew. */
  readonly signsTimeOfEvent?: true;
  /** What its identity tells apart, unless that is one field, one header or one claim. */
  readonly near?: Near;
  /** `#` in the identity stands for the body's SHA-256 in hex. */
  readonly expected: { readonly type: string; readonly deliveryId: string | null };
  /** Material under which the genuine request is refused, where a wrong secret cannot show it. */
  readonly wrong?: Partial<SourceMaterial>;
  readonly handshakes?: readonly HandshakeCase[];
  /** Key documents by their address, for schemes that fetch them. */
  readonly keyDocuments?: Readonly<Record<string, string>>;
}

export interface Vector {
  readonly source: string;
  readonly request: InboundRequest;
  readonly material: SourceMaterial;
  readonly nowMs: number;
}

export interface HandshakeCase {
  readonly name: string;
  request(secret: string, nowMs: number): InboundRequest | Promise<InboundRequest>;
  readonly material?: Partial<SourceMaterial>;
  readonly answer: {
    readonly status: number;
    readonly body: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly learnedSecret?: string;
    readonly pendingVerificationToken?: string;
    readonly visitUrl?: string;
  };
}
