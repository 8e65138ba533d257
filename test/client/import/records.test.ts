import { expect, test } from "bun:test";
import { readRecord } from "../../../src/client/import/records.ts";

test.each([
  '{"record":"event_type","name":"invoice.paid","schema":{"type":"object"},"archived":true}',
  '{"record":"consumer","id":"cust_7","name":null}',
  '{"record":"endpoint","id":"1","url":"https://a.example","secret":"whsec_","headers":{"x-a":null},"without":["a"]}',
])("%s is a record", (line) => {
  expect(readRecord(line)).toEqual(JSON.parse(line));
});

test.each([
  ["{", "this is not JSON"],
  ["[]", "this is no object"],
  ["{}", "record must be event_type, consumer or endpoint"],
  ['{"record":"toString"}', "record must be event_type, consumer or endpoint"],
  ['{"record":"endpoint","url":"https://a.example"}', "id is missing"],
  ['{"record":"event_type"}', "name is missing"],
  ['{"record":"event_type","name":null}', "name must be a text"],
  ['{"record":"consumer","id":7}', "id must be a text"],
  ['{"record":"consumer","id":"7","url":"x"}', "url is no field of consumer"],
  ['{"record":"endpoint","id":"1","eventTypes":["a"]}', "eventTypes is no field of endpoint"],
  ['{"record":"endpoint","id":"1","event_types":"a"}', "event_types must be a list of texts"],
  ['{"record":"endpoint","id":"1","headers":{"x":1}}', "headers must be an object of texts"],
  ['{"record":{"toString":1,"valueOf":1}}', "record must be event_type, consumer or endpoint"],
  ['{"record":["endpoint"],"id":"1"}', "record must be event_type, consumer or endpoint"],
  ['{"record":"event_type","name":"a","description":{"length":99999}}', "description must be a text"],
  ['{"record":"endpoint","id":"1","kind":{"a":1}}', "kind must be a text"],
  ['{"record":"endpoint","id":"1","private_key":1}', "private_key must be a text"],
  ['{"record":"endpoint","id":"1","disabled":"no"}', "disabled must be true or false"],
])("%s is none", (line, fault) => {
  expect(readRecord(line)).toBe(fault);
});
