import { type Static, Type } from "@sinclair/typebox";
import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import type { EventType } from "../../core/model.ts";
import { nameText, nullable, timeShape, timeText, typeText } from "../shared/shapes.ts";

const schemaObject = Type.Object({}, { additionalProperties: true, $id: "DataSchema" });
const exampleObject = Type.Object({}, { additionalProperties: true, $id: "DataExample" });

const TEXTS = {
  name: "What events of this type carry as `type`. It stays as it is.",
  schema:
    "JSON Schema of `data`, 2020-12 or draft-07: what violates it is not published. null: anything goes.",
  example: "`data` of an example event; test events of this type carry it. It must satisfy the schema.",
  group: "A heading to list it under.",
  archived: "True: no longer offered. Its events are accepted as before.",
} as const;

/** Fields that may be set on creation and by PATCH; null stands for the default. */
const settableFields = {
  description: Type.Optional(nullable(Type.String({ maxLength: limit("descriptionLengthMax") }))),
  schema: Type.Optional(nullable(schemaObject, TEXTS.schema)),
  example: Type.Optional(nullable(exampleObject, TEXTS.example)),
  group: Type.Optional(nullable(nameText(limit("nameLengthMax")), TEXTS.group)),
  archived: Type.Optional(nullable(Type.Boolean(), TEXTS.archived)),
};

/** The body of POST /v1/event-types. */
export const newEventTypeShape = Type.Object(
  {
    name: typeText({ description: TEXTS.name }),
    ...settableFields,
  },
  { additionalProperties: false },
);

/** The body of PATCH /v1/event-types/:name. */
export const eventTypeChangeShape = Type.Object(settableFields, { additionalProperties: false });

export type NewEventTypeBody = Static<typeof newEventTypeShape>;
export type EventTypeChangeBody = Static<typeof eventTypeChangeShape>;

export const eventTypeShape = Type.Object(
  {
    name: Type.String({ description: TEXTS.name }),
    description: nullable(Type.String()),
    schema: nullable(schemaObject, TEXTS.schema),
    example: nullable(exampleObject, TEXTS.example),
    group: nullable(Type.String(), TEXTS.group),
    archived: Type.Boolean({ description: TEXTS.archived }),
    created_at: timeShape,
    updated_at: timeShape,
  },
  { $id: "EventType" },
);

export type EventTypeAnswer = Static<typeof eventTypeShape>;

export const eventTypeExample: EventTypeAnswer = {
  name: "invoice.paid",
  description: "An invoice was paid in full.",
  schema: {
    type: "object",
    properties: { id: { type: "string" }, total: { type: "integer", minimum: 0 } },
    required: ["id", "total"],
  },
  example: { id: "in_42", total: 990 },
  group: "Billing",
  archived: false,
  created_at: "2026-11-20T09:00:00.000Z",
  updated_at: "2026-11-20T09:00:00.000Z",
};

/** An event type as the API answers it. */
export function eventTypeOf(type: EventType): EventTypeAnswer {
  return {
    name: type.name,
    description: type.description,
    schema: type.schema,
    example: type.example,
    group: type.group,
    archived: type.archived,
    created_at: timeText(keyTime(type.id)),
    updated_at: timeText(type.updatedAt),
  };
}
