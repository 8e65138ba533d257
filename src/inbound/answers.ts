import type { HandshakeAnswer, HttpAnswer, VerifiedEvent } from "./provider.ts";

/** What the provider is told. */
export type AnswerRule = VerifiedEvent["answer"];

const JSON_TYPE = { "content-type": "application/json" };
/** `nosniff`: a challenge is echoed text, never a page. */
const TEXT_TYPE = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };

/** The usual answer: 200 with the id of the event; where it was seen before, the same id and `duplicate`. */
export const answerWithId: AnswerRule = (id, duplicate) => ({
  status: 200,
  headers: JSON_TYPE,
  body: JSON.stringify(duplicate ? { id, duplicate } : { id }),
});

/** For senders that read the body of the answer, or demand none. */
export function answerEmpty(status = 200): AnswerRule {
  return () => ({ status, headers: {}, body: "" });
}

export function answerText(text: string): AnswerRule {
  return () => ({ status: 200, headers: TEXT_TYPE, body: text });
}

function handshake(answer: HttpAnswer): HandshakeAnswer {
  return { kind: "answer", ...answer };
}

export function emptyHandshake(status = 200, headers: Record<string, string> = {}): HandshakeAnswer {
  return handshake({ status, headers, body: "" });
}

/** Echoes a challenge as text. */
export function textHandshake(text: string): HandshakeAnswer {
  return handshake({ status: 200, headers: TEXT_TYPE, body: text });
}

export function jsonHandshake(value: unknown): HandshakeAnswer {
  return handshake({ status: 200, headers: JSON_TYPE, body: JSON.stringify(value) });
}
