/** The method of each operation, as Python. Ids come first; all else is given by name. */
import { type Document, type Parameter, referredBy, type Schema, sharedOf } from "./document.ts";
import { classOf, commentOf, isRaw, type Method, methodsOf, optionOf } from "./methods.ts";
import { snaked } from "./names.ts";
import { typeOf, unionOf } from "./python-types.ts";

/** The module with a class for each resource and the client that holds them all. */
export function writeMethods(document: Document): string {
  const resources = [...methodsOf(document)];
  const classes = resources.map(([resource, methods]) => {
    const written = methods.map((method) => writeMethod(document, method));
    return `class ${classOf(resource)}(Resource):\n${written.join("\n")}`;
  });
  const properties = resources.map(
    ([resource]) => `
    @property
    def ${snaked(resource)}(self) -> ${classOf(resource)}:
        return ${classOf(resource)}(self._calls)
`,
  );
  return `"""The calls of the API, by their resources."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from .calls import Call, Client, Resource
from .lists import List

if TYPE_CHECKING:
    from .types import *


${classes.join("\n\n")}

class Sealpost(Client):
    """All calls of an installation of Sealpost, by their resources."""
${properties.join("")}`;
}

function writeMethod(document: Document, method: Method): string {
  const name = snaked(method.name.method);
  const answer = answerOf(method);
  const bodies = bodiesOf(document, bodyOf(method));
  const define = (body: string) =>
    `    def ${name}(${writeParameters(method, body).join(", ")}) -> ${answer}:`;
  // Which members go together is said once for each kind of body.
  const overloads = bodies.length < 2 ? [] : bodies.map((body) => `    @overload\n${define(body)} ...`);
  const [only = ""] = bodies;
  return [
    ...overloads,
    define(bodies.length < 2 ? only : "Any"),
    writeComment(method),
    `        return self._calls.${method.entry ? "list" : "ask"}(Call(${writeCall(method, only).join(", ")}))`,
    "",
  ].join("\n");
}

function writeComment(method: Method): string {
  const about = [...method.query, ...method.headers].filter(({ description }) => description !== undefined);
  const parameters = about.map(({ name, description }) => `${optionOf(name)}: ${description}`);
  const lines = [...commentOf(method), ...(parameters.length > 0 ? ["", ...parameters] : [])];
  const text = lines.map((line) => `        ${line}`.trimEnd()).join("\n");
  return `        """${text.trimStart().replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"')}\n        """`;
}

function bodyOf({ asked }: Method): Schema | undefined {
  return asked.operation.requestBody?.content["application/json"]?.schema;
}

/** The TypedDicts that the members of a body may be; none where a body has no member. */
function bodiesOf(document: Document, schema: Schema | undefined): string[] {
  if (schema === undefined) return [];
  const shared = sharedOf(document, schema);
  const forms = shared.anyOf ?? shared.oneOf;
  if (forms !== undefined) return forms.flatMap((form) => bodiesOf(document, form));
  if (Object.keys(shared.properties ?? {}).length === 0) return [];
  if (schema.$ref === undefined) throw new Error(`A body has no name: ${JSON.stringify(schema)}`);
  return [`Unpack[${referredBy(schema.$ref)}]`];
}

function writeParameters(method: Method, body: string): string[] {
  const { ids, query, headers, isKeyed } = method;
  const isBytes = method.asked.operation.requestBody !== undefined && isRaw(method);
  const positional = [
    ...ids.map(({ name }) => `${name}: str`),
    ...(isBytes ? ['body: str | bytes = b""'] : []),
  ];
  const named = [
    ...[...query, ...headers].map(writeNamed),
    ...(isKeyed ? ["idempotency_key: str | None = None"] : []),
  ];
  return [
    "self",
    ...(positional.length > 0 ? [...positional, "/"] : []),
    ...(named.length > 0 ? ["*", ...named] : []),
    ...(body === "" ? [] : [`**body: ${body}`]),
  ];
}

function writeNamed({ name, required, schema = {} }: Parameter): string {
  const type = typeOf(schema);
  return `${optionOf(name)}: ${required === true ? type : `${type} | None = None`}`;
}

function answerOf({ successes, entry }: Method): string {
  const answer = unionOf(successes.map((schema) => (schema === null ? "None" : typeOf(schema))));
  // Of a list the other form of the answer is not asked for.
  return entry === undefined ? answer : `List[${typeOf(entry)}, ${answer.replace(" | str", "")}]`;
}

function writeCall(method: Method, body: string): string[] {
  const { asked, ids, query, headers, repeats, isKeyed, isOpen } = method;
  const isBytes = asked.operation.requestBody !== undefined && isRaw(method);
  const pairs = (parameters: readonly Parameter[]) =>
    parameters.map(({ name }) => `"${name}": ${optionOf(name)}`).join(", ");
  const sent = [
    ...headers.map(({ name }) => `"${name}": ${optionOf(name)}`),
    ...(isKeyed ? ['"idempotency-key": idempotency_key'] : []),
  ];
  return [
    `"${asked.method}"`,
    `"${asked.path}"`,
    `"${repeats}"`,
    ...(ids.length > 0 ? [`ids=(${ids.map(({ name }) => `${name},`).join(" ")})`] : []),
    ...(query.length > 0 ? [`query={${pairs(query)}}`] : []),
    ...(sent.length > 0 ? [`headers={${sent.join(", ")}}`] : []),
    ...(body !== "" || isBytes ? [isBytes ? "body=body" : "body={**body}"] : []),
    ...(isOpen ? ["is_open=True"] : []),
  ];
}
