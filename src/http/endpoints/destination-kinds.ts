import { type Static, Type } from "@sinclair/typebox";
import type { DestinationField, KindRow } from "../../destinations/destination.ts";
import { listKinds } from "../../destinations/destinations.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import { nullable, oneOf } from "../shared/shapes.ts";

/** The table of destination kinds as the API answers it: what forms and docs are made of. */
export function destinationKindRoutes(): AnyRoute[] {
  return [listRoute];
}

const fieldShape = Type.Object(
  {
    name: Type.String({ description: "Its name in `config`." }),
    label: Type.String(),
    help: Type.String(),
    required: Type.Boolean(),
    secret: Type.Boolean({ description: "Write-only: it reads `***`." }),
    address: Type.Boolean({ description: "It names a host that is connected to: public addresses only." }),
    type: oneOf(["string", "boolean"]),
    pattern: Type.Optional(
      Type.String({ description: "A regular expression that the whole value matches." }),
    ),
  },
  { $id: "DestinationField" },
);

const kindShape = Type.Object(
  {
    kind: Type.String(),
    name: Type.String(),
    fields: Type.Array(fieldShape, { description: "In the order of a form." }),
    max_bytes: nullable(
      Type.Integer(),
      "The largest body that it takes; what is larger is `malformed`. null: no bound of its own.",
    ),
  },
  { $id: "DestinationKind" },
);

const kindExample = {
  kind: "http",
  name: "HTTP URL",
  fields: [
    {
      name: "url",
      label: "URL",
      help: "Where deliveries are posted to.",
      required: true,
      secret: false,
      address: true,
      type: "string",
    },
  ],
  max_bytes: null,
};

const listRoute = route({
  method: "GET",
  path: "/v1/destination-kinds",
  operationId: "listDestinationKinds",
  tag: "Endpoints",
  summary: "List the kinds of destinations",
  description: "With the fields that `config` of an endpoint of each kind holds. All of them, in one answer.",
  access: "read",
  budget: "management",
  answers: {
    200: {
      description: "The kinds.",
      schema: Type.Object({ data: Type.Array(kindShape) }),
      example: { data: [kindExample] },
    },
  },
  handle: () => ({ status: 200, json: { data: listKinds().map(kindOf) } }),
});

function kindOf({ kind, name, fields, maxBytes }: KindRow) {
  return { kind, name, fields: fields.map(fieldOf), max_bytes: maxBytes };
}

function fieldOf({
  name,
  label,
  help,
  required,
  secret,
  address,
  type,
  pattern,
}: DestinationField): Static<typeof fieldShape> {
  const shown = { name, label, help, required, secret, address, type: type ?? "string" };
  return { ...shown, ...(pattern !== undefined && { pattern }) };
}
