from __future__ import annotations

import builtins
import json
import unittest
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

from sealpost import (
    Answer,
    ApiError,
    ConflictError,
    ConnectionError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    SealpostError,
)
from sealpost.errors import error_of

PROBLEM = {
    "status": 422,
    "code": "invalid_request",
    "detail": "The request is not valid.",
    "request_id": "req-1",
    "errors": [{"pointer": "/url", "detail": "must be a URL"}],
}


def read(status: int, text: str, headers: dict[str, str] | None = None) -> ApiError:
    return error_of(Answer(status, headers or {}, text.encode()))


class AnError(unittest.TestCase):
    def test_is_a_problem_read_whole_and_its_message_names_the_places(self) -> None:
        error = read(422, json.dumps(PROBLEM), {"retry-after": "7"})
        told = (error.status, error.code, error.detail, error.errors, error.request_id, error.retry_after)
        expected = (422, "invalid_request", PROBLEM["detail"], PROBLEM["errors"], "req-1", 7)
        self.assertEqual(told, expected)
        self.assertEqual(str(error), "422 invalid_request: The request is not valid.; /url: must be a URL")

    def test_is_of_a_class_that_can_be_caught(self) -> None:
        kinds = {
            404: NotFoundError,
            409: ConflictError,
            422: InvalidRequestError,
            429: RateLimitError,
            500: ApiError,
        }
        for status, kind in kinds.items():
            error = read(status, json.dumps(PROBLEM))
            self.assertIs(type(error), kind)
            self.assertIsInstance(error, SealpostError)

    def test_is_told_as_it_is_where_it_is_no_problem_of_sealposts(self) -> None:
        location = {"location": "https://b.example.com/"}
        for text, headers, detail in (
            ("<html>Bad Gateway</html>", {}, "<html>Bad Gateway</html>"),
            ("", {}, "An answer of 502 without a body"),
            ("null", {}, "null"),
            ('{"code":1,"detail":"x"}', {}, '{"code":1,"detail":"x"}'),
            ("", location, "It leads to https://b.example.com/: give that address as url"),
            ("x" * 5000, {}, "x" * 200),
        ):
            error = read(502, text, headers)
            self.assertEqual((error.code, error.detail, error.errors, error.request_id), ("unknown", detail, [], None))

    def test_leaves_out_what_a_proxy_may_write_in_place_of_faults_and_the_request_id(self) -> None:
        fault = {"pointer": "/a", "detail": "b"}
        odd: list[object] = [None, "bad", {"a": 1}, 7, ["bad", None, 7, [], {}, {"pointer": 1, "detail": "x"}]]
        for errors in (*odd, [{"pointer": "/a"}], [{"detail": "b"}]):
            error = read(502, json.dumps({"code": "c", "detail": "d", "request_id": [1], "errors": errors}))
            self.assertEqual((str(error), error.errors, error.request_id), ("502 c: d", [], None))
        error = read(422, json.dumps({"code": "c", "detail": "d", "errors": [None, fault, "bad"]}))
        self.assertEqual((str(error), error.errors), ("422 c: d; /a: b", [fault]))

    def test_is_told_also_where_the_body_is_nested_without_end(self) -> None:
        for text in ("[" * 100_000, '{"a":' * 100_000):
            error = read(502, text)
            self.assertEqual((error.code, error.detail), ("unknown", text[:200]))

    def test_has_no_retry_after_where_that_is_beyond_time(self) -> None:
        for text in (
            "Mon, 01 Jan 2024 00:00:00 +99999999",
            f"Mon, 01 Jan 2024 00:00:00 +{'9' * 30}",
            f"Mon, 01 Jan {'9' * 5000} 00:00:00 GMT",
            "Mon, 99 Jan 2024 00:00:00 GMT",
            "",
            " ",
        ):
            self.assertIsNone(read(503, "", {"retry-after": text}).retry_after)

    def test_reads_retry_after_as_seconds_and_as_a_date_and_nothing_else(self) -> None:
        in_a_minute = format_datetime(datetime.now(timezone.utc) + timedelta(minutes=1), usegmt=True)
        given = ("120", "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 -0000", "soon", "-1", "1" * 12)
        waits = [read(503, "", {"retry-after": text}).retry_after for text in given]
        self.assertEqual(waits, [120, 0, 0, None, None, None])
        wait = read(503, "", {"retry-after": in_a_minute}).retry_after
        self.assertTrue(wait is not None and 50 < wait <= 60)

    def test_of_the_connection_is_also_what_python_calls_so(self) -> None:
        with self.assertRaises(builtins.ConnectionError):
            raise ConnectionError("cut")
        self.assertTrue(issubclass(ConnectionError, SealpostError))
