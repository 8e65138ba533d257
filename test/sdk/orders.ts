/** A document with one operation of each sort. */
import type { Document, Operation } from "../../sdk/build/document.ts";

const of = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const TEXT = { type: "string" };
const json = (schema: object) => ({ content: { "application/json": { schema } } });
const query = (name: string, required = false) => ({ name, in: "query" as const, required, schema: TEXT });
const ID = { name: "id", in: "path" as const, required: true, schema: TEXT };
const KEY = { $ref: "#/components/parameters/IdempotencyKey" };

function operation(operationId: string, parts: Partial<Operation>): Operation {
  return {
    operationId,
    tags: ["Orders"],
    summary: "Do it",
    security: [{ api_key: [] }],
    responses: { 200: json({}) },
    ...parts,
  };
}

export const ORDERS: Document = {
  tags: [{ name: "Orders", description: "" }],
  components: {
    schemas: {
      Order: { type: "object", required: ["id"], properties: { id: TEXT, note: TEXT } },
      OrderPage: {
        type: "object",
        properties: { data: { type: "array", items: of("Order") }, next_cursor: TEXT },
      },
      NewOrder: { anyOf: [of("Order"), of("PaidOrder")] },
      PaidOrder: { type: "object", properties: { paid: { type: "boolean" } } },
      Nothing: { type: "object", additionalProperties: false, properties: {} },
    },
    parameters: {
      IdempotencyKey: { name: "Idempotency-Key", in: "header" },
      Durability: { name: "sealpost-durability", in: "header", schema: { enum: ["disk", "replica"] } },
    },
  },
  paths: {
    "/v1/orders": {
      get: operation("listOrders", {
        parameters: [query("cursor"), query("format")],
        responses: { 200: json(of("OrderPage")) },
      }),
      post: operation("createOrder", {
        description: 'All */ of """it"\\".',
        parameters: [KEY, { $ref: "#/components/parameters/Durability" }, query("verify")],
        requestBody: { required: true, ...json(of("NewOrder")) },
      }),
    },
    "/v1/orders/{id}": {
      get: operation("getOrder", { parameters: [ID, query("by", true)] }),
      delete: operation("deleteOrder", { parameters: [ID], responses: { 204: {} } }),
      patch: operation("updateOrder", {
        parameters: [ID],
        requestBody: json(of("PaidOrder")),
      }),
    },
    "/v1/orders/{id}/erase": {
      delete: operation("eraseOrder", { parameters: [ID], responses: { 202: json({}) } }),
    },
    "/v1/orders/by/{name}": {
      delete: operation("unnameOrder", {
        parameters: [{ name: "name", in: "path" as const, required: true }],
        responses: { 204: {} },
      }),
    },
    "/v1/orders/{id}/retry": {
      post: operation("retryOrder", {
        parameters: [ID, KEY],
        requestBody: json(of("Nothing")),
        responses: { 200: json(of("Order")), 202: {} },
      }),
    },
    "/poll/{id}": {
      get: operation("pollOrders", {
        parameters: [ID, query("cursor")],
        responses: { 200: json(of("OrderPage")) },
      }),
    },
    "/door/{id}": {
      post: operation("knockOrders", {
        parameters: [ID],
        security: [],
        requestBody: { content: { "application/octet-stream": {} } },
      }),
    },
  },
};
