import { describe, expect, test } from "bun:test";
import { preparePublish } from "./event.ts";
import { createFramer, readDigits, readStatus, writeDigits } from "./wire.ts";

const first = "HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nhello";
const second = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const chunked =
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n0\r\n\r\n\r\na\r\n0123456789\r\n0\r\n\r\n";

function frame(chunks: string[]): string[] {
  const messages: string[] = [];
  const read = createFramer((message) => messages.push(message.toString()));
  for (const chunk of chunks) read(Buffer.from(chunk));
  return messages;
}

describe("the framer of the bench", () => {
  test("hands over two messages that arrive together", () => {
    expect(frame([first + second])).toEqual([first, second]);
  });

  test("hands over the same messages wherever the stream is cut", () => {
    const stream = first + chunked + second + first;
    for (let cut = 1; cut < stream.length; cut++) {
      expect(frame([stream.slice(0, cut), stream.slice(cut)])).toEqual([first, chunked, second, first]);
    }
  });

  test("does not take a length that stands in the body for the head's", () => {
    const message = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nength: 77";
    expect(frame([message])).toEqual([message]);
    expect(frame(["HTTP/1.1 204 No Content\r\n\r\n", second])).toEqual([
      "HTTP/1.1 204 No Content\r\n\r\n",
      second,
    ]);
  });

  test("reads the status of an answer", () => {
    expect(readStatus(Buffer.from(first))).toBe(202);
  });
});

test("digits are written so that they are read back", () => {
  const bytes = Buffer.from("at:1111111111111111,");
  writeDigits(bytes, bytes.length - 1, 1_795_288_280_057_077);
  expect(readDigits(bytes, 3)).toBe(1_795_288_280_057_077);
  expect(bytes.toString()).toBe("at:1795288280057077,");
});

test("a prepared publish is a whole request with a body of the asked size and the two numbers in it", () => {
  const request = preparePublish("127.0.0.1:1", "sp_live_x", 3, 1024);
  const bytes = request.write(1_000_000_042, 1_795_288_280_057_077).toString();
  expect(frame([bytes])).toEqual([bytes]);
  const body = bytes.slice(bytes.indexOf("\r\n\r\n") + 4);
  expect(body.length).toBe(1024);
  expect(JSON.parse(body)).toMatchObject({
    type: "bench.endpoint_3",
    data: { sequence: 1_000_000_042, sent_at_us: 1_795_288_280_057_077 },
  });
});
