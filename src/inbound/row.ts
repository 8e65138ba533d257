import type { Fault } from "../core/errors.ts";
import type { AnswerRule } from "./answers.ts";
import type { ConfigRule } from "./config.ts";
import type { Extractor, Facts, ProvenReader } from "./facts.ts";
import type {
  InboundRequest,
  Provider,
  ProviderDocs,
  ReadingMeans,
  Reception,
  SecretFrom,
  VerifiedWith,
} from "./provider.ts";
import type { Arrival, Scheme } from "./schemes/scheme.ts";
import type { TimestampUnit, Window } from "./window.ts";

/** A request that the provider wants answered and that is no event. `text` names it on the docs page. */
export interface Handshake<Seen> {
  readonly text: string;
  /** null: the request is not this handshake. */
  answer(seen: Seen): Reception | null | Promise<Reception | null>;
}

/** One provider as data. What is left out has the usual value. */
export interface ProviderRow {
  readonly key: string;
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly scheme: Scheme;
  readonly secretFrom: SecretFrom;
  /** How the provider calls what is entered as `signing_secret`; default "Signing secret". */
  readonly secretLabel?: string;
  /** What is entered is a public key: it need not be hidden. */
  readonly isSecretPublic?: boolean;
  /**
   * False where everything is entered as `credentials` (Braintree). Default true where the customer or the
   * source has it.
   */
  readonly hasSigningSecret?: false;
  /** Where something else can stand in for the secret. */
  readonly isSecretOptional?: true;
  /** What must be there before anything can be verified, where it is not simply every required field. */
  readonly isAwaiting?: Provider["isAwaiting"];
  /** The provider's handshake brings the secret (Asana, Notion). */
  readonly isSecretLearned?: true;
  /** Default base64. */
  readonly secretAlphabet?: Provider["secretAlphabet"];
  /** Where the provider takes only short ones. */
  readonly secretLengthMax?: number;
  /** The parts of `credentials`. */
  readonly credentials?: readonly ConfigRule[];
  readonly config?: readonly ConfigRule[];
  /** What no rule can say of one setting by itself. */
  readonly checkConfig?: (config: Readonly<Record<string, unknown>>) => readonly Fault[];
  /**
   * The request as it was before the provider compressed it, in a turn of its own where that is heavy; null
   * where it is malformed.
   */
  readonly unpack?: (request: InboundRequest, means: ReadingMeans) => Promise<InboundRequest | null>;
  /** Those that arrive unsigned are answered before verification; default none. */
  readonly unsignedHandshakes?: readonly Handshake<Arrival>[];
  readonly signedHandshakes?: readonly Handshake<Facts>[];
  /** Where it sends forms in place of JSON; default never. */
  readonly form?: "always" | "sometimes";
  /** A type of its events, as it stands behind the key: `invoice.paid`; `unknown` where it sends none. */
  readonly typeExample: string;
  readonly eventType: Extractor;
  readonly deliveryId: Extractor;
  /** A timestamp inside the signed body. */
  readonly bodyTimestamp?: { readonly path: string; readonly unit: TimestampUnit; readonly window?: Window };
  /**
   * Paths into `data`, where the body itself holds what proves it: masked, or whoever reads an event could
   * send another. `*` stands for every element of a list. No name may stand twice in the JSON of such a body.
   */
  readonly proofs?: readonly string[];
  /** Paths into `data` of what else may prove a request to somebody: masked where it stands. */
  readonly secrets?: readonly string[];
  /**
   * A proof that covers too little to be taken twice: with other data it is refused. Its scheme gives
   * `proven` with every verdict; a request without it is malformed.
   */
  readonly proofTakenOnce?: ProvenReader;
  /** Default: 200 with the event's id. */
  readonly answer?: (facts: Facts) => AnswerRule;
  readonly verifiedWith: VerifiedWith;
  readonly docs: ProviderDocs;
}
