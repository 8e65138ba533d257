/** Every answer that tests receive, held against the OpenAPI document. */
import { parseRfc3339 } from "../../src/core/rfc3339.ts";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

/** Of an answer, what the document speaks of. */
export interface Received {
  status: number;
  headers: Headers;
  text: string;
}

interface Media {
  schema?: object;
  /** Of problems: one for each code. */
  examples?: Record<string, unknown>;
}

interface Answer {
  $ref?: string;
  content?: Record<string, Media>;
}

export interface Operation {
  operationId: string;
  description: string;
  tags: string[];
  parameters: { $ref?: string; name?: string; in?: string }[];
  requestBody?: object;
  responses: Record<string, Answer>;
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Answer> };
}

const PROBLEM = "application/problem+json";

/**
 * The codes of the problems that an operation answers with a status; none where it answers something else.
 */
export function codesOf(document: OpenApi, { responses }: Operation, status: number | string): string[] {
  return Object.keys(contentOf(document, responses[status])?.[PROBLEM]?.examples ?? {});
}

function contentOf({ components }: OpenApi, answer: Answer | undefined): Answer["content"] {
  const shared = answer?.$ref?.split("/").at(-1);
  return shared === undefined ? answer?.content : components.responses[shared]?.content;
}

/** At the door each provider demands an answer of its own. */
const AS_PROVIDERS_DEMAND = new Set(["ingest", "answerHandshake", "allowSender"]);

const FORMATS = {
  "date-time": (text: string) => parseRfc3339(text) !== null,
  date: /^\d{4}-\d\d-\d\d$/,
  uri: (text: string) => URL.canParse(text),
  binary: true,
} as const;

/** No operation's: the path takes other methods. */
const METHOD_NOT_ALLOWED = 405;

export class Conformance {
  readonly #paths: { matches: RegExp; template: string }[];
  readonly #ajv = new Ajv2020({ strict: false, formats: FORMATS });
  readonly #checks = new Map<string, ValidateFunction>();

  constructor(private readonly document: OpenApi) {
    this.#ajv.addSchema(document, "openapi");
    // A path without parameters comes before one that has some in the same places.
    const templates = Object.keys(document.paths).toSorted(
      (a, b) => a.split("{").length - b.split("{").length,
    );
    this.#paths = templates.map((template) => {
      const pattern = template.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+");
      return { template, matches: new RegExp(`^${pattern}$`) };
    });
  }

  /**
   * Why the answer is none of the documented ones; null: it is, or the document does not speak of the path.
   */
  faultOf(method: string, path: string, received: Received): string | null {
    const [pathname = ""] = path.split("?");
    const template = this.#paths.find(({ matches }) => matches.test(pathname))?.template ?? "";
    const operation = this.document.paths[template]?.[method.toLowerCase()];
    if (operation === undefined || received.status === METHOD_NOT_ALLOWED) return null;
    const fault = this.#fault(operation, `#/paths/${escape(template)}/${method.toLowerCase()}`, received);
    return fault && `${method} ${path} answered ${received.status}, ${fault}: ${received.text.slice(0, 500)}`;
  }

  /** Whether a value is what a component asks for. */
  accepts(component: string, value: unknown): boolean {
    return this.#schemaFault(`#/components/schemas/${component}`, value) === null;
  }

  #fault(operation: Operation, place: string, { status, headers, text }: Received): string | null {
    const { operationId, responses } = operation;
    const answer = responses[status];
    if (answer === undefined) return "which is not documented";
    if (status < 300 && AS_PROVIDERS_DEMAND.has(operationId)) return null;
    const content = contentOf(this.document, answer);
    if (content === undefined) return text === "" ? null : "which should have no body";
    const [type = ""] = (headers.get("content-type") ?? "").split(";");
    if (content[type] === undefined) return `which should not be ${type || "empty"}`;
    const value = type.endsWith("/json") || type.endsWith("+json") ? JSON.parse(text) : text;
    const codes = codesOf(this.document, operation, status);
    if (type === PROBLEM && !codes.includes(value.code)) return `whose code should be ${codes.join(" or ")}`;
    const home = answer.$ref ?? `${place}/responses/${status}`;
    return this.#schemaFault(`${home}/content/${escape(type)}/schema`, value);
  }

  #schemaFault(place: string, value: unknown): string | null {
    const known = this.#checks.get(place);
    const check = known ?? this.#ajv.compile({ $ref: `openapi${place}` });
    if (known === undefined) this.#checks.set(place, check);
    return check(value) ? null : `which is not as documented (${this.#ajv.errorsText(check.errors)})`;
  }
}

function escape(part: string): string {
  return encodeURI(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}
