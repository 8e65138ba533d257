"""Calls over real connections, to servers that fail as servers do."""
from __future__ import annotations

import json
import socket
import unittest
from decimal import Decimal
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import Any
from unittest.mock import patch

from sealpost import Answer, ApiError, ConnectionError, NotFoundError, Sealpost, SealpostError
from sealpost.calls import Call
from serving import Reply, Server

READ = Call("GET", "/v1/events/{id}", "idempotent", ids=("evt_1",))
POST = Call("POST", "/v1/events", "key", body={"a": 1})
BUSY = Reply(503, {"code": "unavailable", "detail": "Later."})


class Case(unittest.TestCase):
    def setUp(self) -> None:
        # How long it waits is the subject of test_retries.py.
        waits = patch("sealpost.calls.sleep")
        self.slept = waits.start()
        self.addCleanup(waits.stop)

    def serve(self, answer: Any, **settings: Any) -> tuple[Server, Any]:
        server = Server(self, answer)
        return server, Sealpost(url=f"{server.url}/", key="sp_test_x", **settings)._calls


class Request(Case):
    def test_carries_the_key_its_ids_its_query_and_its_headers(self) -> None:
        server, calls = self.serve(lambda _: Reply(value={"ok": True}), headers={"X-Mine": "1"})
        query = {"limit": 2, "type": "a b", "cursor": None, "matched": True}
        call = Call(
            "GET", READ.path, "idempotent", ids=("a/b?c",), query=query, headers={"a-b": "c", "x-none": None}
        )
        self.assertEqual(calls.ask(call), {"ok": True})
        (asked,) = server.asked
        self.assertEqual(asked.target, "/v1/events/a%2Fb%3Fc?limit=2&type=a+b&matched=true")
        names = ["authorization", "a-b", "x-none", "x-mine", "idempotency-key"]
        self.assertEqual([asked.headers[name] for name in names], ["Bearer sp_test_x", "c", None, "1", None])

    def test_of_an_open_operation_goes_without_the_key_and_a_raw_body_as_it_is(self) -> None:
        server, calls = self.serve(lambda _: Reply(204, text=""), headers={"Content-Type": "text/plain"})
        for body in ("hü", "hü".encode()):
            self.assertIsNone(calls.ask(Call("POST", "/ingest/a", "never", body=body, is_open=True)))
        for asked in server.asked:
            sent = (asked.body, asked.headers["authorization"], asked.headers["content-type"])
            self.assertEqual(sent, ("hü", None, "text/plain"))

    def test_has_a_header_of_the_callers_in_place_of_its_own(self) -> None:
        server, calls = self.serve(lambda _: Reply(value={}), headers={"User-Agent": "mine"})
        calls.ask(READ)
        self.assertEqual(server.asked[0].headers.get_all("user-agent"), ["mine"])

    def test_with_an_id_that_leads_elsewhere_is_not_made(self) -> None:
        server, calls = self.serve(lambda _: Reply())
        for id in ("", ".", "..", None):
            with self.assertRaisesRegex(ValueError, "is no id in /v1/events/{id}"):
                calls.ask(Call("GET", READ.path, "idempotent", ids=(id,)))  # type: ignore[arg-type]
        self.assertEqual(server.asked, [])

    def test_needs_an_address_and_a_key(self) -> None:
        for url in ("localhost:8080", "https://a b", "https://", "http://a:b", "http://u:p@a", "https://a?b"):
            with self.assertRaisesRegex(ValueError, "url must be an address"):
                Sealpost(url=url, key="k")
        with self.assertRaisesRegex(ValueError, "key is empty"):
            Sealpost(url="https://a.example.com", key="")

    def test_does_not_show_a_key_that_cannot_be_sent(self) -> None:
        for key in ("sp_live_SECRET\n", "sp_live_SECRET\r\n", "sp_live_\nSECRET", "SECRET…", " SECRET", "SECRET\udcff"):
            with self.assertRaisesRegex(ValueError, "^key has a space, a line end or") as raised:
                Sealpost(url="https://a.example.com", key=key)
            self.assertNotIn("SECRET", str(raised.exception))

    def test_does_not_show_a_header_that_cannot_be_sent(self) -> None:
        for value in ("SECRET\n", "SECRET\r\n b", "SECRET…", "SECRET\udcff", b"SECRET"):
            _, calls = self.serve(lambda _: Reply(), headers={"X-Mine": value})
            with self.assertRaisesRegex(ValueError, "^The header x-mine must be a text") as raised:
                calls.ask(READ)
            self.assertNotIn("SECRET", str(raised.exception))
        _, calls = self.serve(lambda _: Reply(), headers={"x\n": "1"})
        with self.assertRaisesRegex(ValueError, "is no name of a header"):
            calls.ask(READ)
        _, calls = self.serve(lambda _: Reply())
        with self.assertRaisesRegex(ValueError, "The header idempotency-key must be"):
            calls.ask(Call("POST", "/v1/events", "key", headers={"idempotency-key": "a\n"}))

    def test_goes_another_way_where_one_is_given(self) -> None:
        sent: list[Any] = []

        def send(*request: Any) -> Answer:
            sent.append(request)
            return Answer(200, {"content-type": "application/json"}, b"[1]")

        sealpost = Sealpost(url="https://a.example.com/s", key="k", send=send, timeout=3)
        self.assertEqual(sealpost._calls.ask(READ), [1])
        ((method, url, _, body, timeout),) = sent
        self.assertEqual((method, url, body, timeout), ("GET", "https://a.example.com/s/v1/events/evt_1", None, 3))

    def test_tells_no_key_where_it_is_printed(self) -> None:
        self.assertNotIn("sp_test_x", repr(Sealpost(url="https://a.example.com", key="sp_test_x")._calls))


class AnAnswer(Case):
    def test_that_is_no_json_is_its_text(self) -> None:
        _, calls = self.serve(lambda _: Reply(text="up 1\n", headers={"content-type": "text/plain"}))
        self.assertEqual(calls.ask(READ), "up 1\n")

    def test_keeps_its_numbers_by_a_parser_that_does(self) -> None:
        text = '{"a":12345678901234567890,"b":0.12345678901234567891}'
        kept = Reply(text=text, headers={"content-type": "application/json"})
        _, calls = self.serve(lambda _: kept, loads=partial(json.loads, parse_float=Decimal))
        self.assertEqual(calls.ask(READ), {"a": 12345678901234567890, "b": Decimal("0.12345678901234567891")})

    def test_that_should_be_json_and_is_none_is_an_error_of_the_connection(self) -> None:
        broken = Reply(text='{"id":', headers={"content-type": "application/json"})
        server, calls = self.serve(lambda _: broken, retries=0)
        with self.assertRaises(ConnectionError) as raised:
            calls.ask(READ)
        expected = f"GET {server.url}/v1/events/evt_1: the answer is no JSON: "
        self.assertTrue(str(raised.exception).startswith(expected))

    def test_that_is_nested_without_end_is_an_error_of_the_connection(self) -> None:
        deep = Reply(text="[" * 100_000, headers={"content-type": "application/json"})
        _, calls = self.serve(lambda _: deep, retries=0)
        with self.assertRaisesRegex(ConnectionError, "the answer is no JSON: "):
            calls.ask(READ)

    def test_of_a_proxy_in_the_shape_of_a_problem_is_asked_for_again(self) -> None:
        odd = {"code": "bad_gateway", "detail": "No.", "errors": ["bad"]}
        server, calls = self.serve(lambda nth: Reply(502, odd) if nth == 1 else Reply(value=nth))
        self.assertEqual((calls.ask(READ), len(server.asked)), (2, 2))

    def test_that_leads_elsewhere_is_not_followed(self) -> None:
        server, calls = self.serve(lambda _: Reply(301, text="", headers={"location": "/other"}))
        with self.assertRaisesRegex(ApiError, "It leads to /other: give that address as url"):
            calls.ask(POST)
        self.assertEqual(len(server.asked), 1)


class ABody(Case):
    def test_is_short_and_in_utf_8(self) -> None:
        server, calls = self.serve(lambda _: Reply(value={}))
        calls.ask(Call("POST", "/v1/events", "key", body={"a": ["ü", 12345678901234567890]}))
        sent = server.asked[0]
        self.assertEqual(sent.body, '{"a":["ü",12345678901234567890]}')
        self.assertEqual(sent.headers["content-type"], "application/json")

    def test_of_what_is_no_json_is_not_sent(self) -> None:
        server, calls = self.serve(lambda _: Reply())
        with self.assertRaises(ValueError):
            calls.ask(Call("POST", "/v1/events", "key", body={"a": float("nan")}))
        self.assertEqual(server.asked, [])


class ACallThatFails(Case):
    def test_is_made_again_under_one_key(self) -> None:
        server, calls = self.serve(lambda nth: BUSY if nth < 3 else Reply(202, {"id": 1}))
        self.assertEqual(calls.ask(POST), {"id": 1})
        calls.ask(POST)
        first, second, third, other = [asked.headers["idempotency-key"] for asked in server.asked]
        self.assertEqual((len(first), second, third), (36, first, first))
        self.assertNotEqual(other, first)

    def test_is_made_again_under_the_callers_own_key(self) -> None:
        server, calls = self.serve(lambda nth: BUSY if nth == 1 else Reply(value={}))
        calls.ask(Call("POST", "/v1/events", "key", headers={"idempotency-key": "order-7"}))
        self.assertEqual([asked.headers["idempotency-key"] for asked in server.asked], ["order-7", "order-7"])

    def test_without_a_key_is_not_made_again_but_after_a_429(self) -> None:
        call = Call("POST", "/ingest/a", "never")
        failing, calls = self.serve(lambda _: BUSY)
        with self.assertRaises(ApiError):
            calls.ask(call)
        busy, calls = self.serve(lambda nth: Reply(429 if nth == 1 else 200, {}))
        calls.ask(call)
        self.assertEqual((len(failing.asked), len(busy.asked)), (1, 2))

    def test_ends_after_its_retries_with_the_last_error(self) -> None:
        server, calls = self.serve(lambda nth: Reply(503, {"code": f"c{nth}", "detail": "No."}), retries=1)
        with self.assertRaises(ApiError) as raised:
            calls.ask(READ)
        self.assertEqual((raised.exception.code, len(server.asked)), ("c2", 2))

    def test_ends_at_once_where_the_next_attempt_would_come_too_late(self) -> None:
        server, calls = self.serve(lambda _: Reply(429, {}, {"retry-after": "3600"}))
        with self.assertRaises(ApiError) as raised:
            calls.ask(READ)
        self.assertEqual((raised.exception.retry_after, len(server.asked)), (3600, 1))
        self.slept.assert_not_called()

    def test_waits_as_long_as_it_is_told(self) -> None:
        _, calls = self.serve(lambda nth: Reply(429 if nth == 1 else 200, {}, {"retry-after": "7"}))
        calls.ask(READ)
        ((wait,), _) = self.slept.call_args
        self.assertTrue(7 <= wait <= 7.7)

    def test_has_a_time_for_each_attempt(self) -> None:
        ended = Event()
        self.addCleanup(ended.set)

        def answer(nth: int) -> Reply | None:
            return Reply(value=nth) if nth == 2 else hang(nth)

        def hang(_nth: int) -> None:
            ended.wait()

        server, calls = self.serve(answer, timeout=0.2)
        self.assertEqual(calls.ask(READ), 2)
        self.assertEqual(len(server.asked), 2)
        _, calls = self.serve(hang, timeout=0.05, retries=0)
        with self.assertRaisesRegex(ConnectionError, "no answer within 0.05 s"):
            calls.ask(READ)

    def test_is_made_again_where_the_connection_is_cut_before_the_answer_or_within_it(self) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
        answers = [b"", head + b"content-length: 20\r\n\r\n{", head + b"content-length: 2\r\n\r\n{}"]
        listening = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listening.close)

        def answer() -> None:
            for one in answers:
                near, _ = listening.accept()
                near.recv(65536)
                near.sendall(one)
                near.close()

        Thread(target=answer, daemon=True).start()
        port = listening.getsockname()[1]
        self.assertEqual(Sealpost(url=f"http://127.0.0.1:{port}", key="k")._calls.ask(POST), {})
        self.assertEqual(self.slept.call_count, 2)

    def test_says_what_failed_where_there_is_nobody(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as gone:
            url = f"http://127.0.0.1:{gone.getsockname()[1]}"
        with self.assertRaises(ConnectionError) as raised:
            Sealpost(url=url, key="k", retries=0)._calls.ask(READ)
        self.assertTrue(str(raised.exception).startswith(f"GET {url}/v1/events/evt_1: "))
        self.assertIsInstance(raised.exception.__cause__, ConnectionRefusedError)


class ADeletion(Case):
    gone = Call("DELETE", "/v1/events/{id}", "idempotent", ids=("evt_1",))

    def test_whose_first_answer_was_lost_is_done_when_the_second_finds_nothing(self) -> None:
        problem = {"code": "not_found", "detail": "No."}
        _, calls = self.serve(lambda nth: Reply(504 if nth == 1 else 404, problem))
        self.assertIsNone(calls.ask(self.gone))

    def test_of_what_was_never_there_is_an_error_also_behind_a_429(self) -> None:
        problem = {"code": "not_found", "detail": "No."}
        _, calls = self.serve(lambda nth: Reply(429 if nth == 1 else 404, problem))
        for _ in range(2):
            with self.assertRaises(NotFoundError):
                calls.ask(self.gone)


class AClient(Case):
    def test_has_others_under_other_bounds_that_leave_it_as_it_was(self) -> None:
        server, _ = self.serve(lambda _: BUSY)
        sealpost = Sealpost(url=server.url, key="k", retries=1)
        sooner = sealpost.with_options(retries=0, headers={"x-mine": "1"})
        for client, expected in ((sooner, 1), (sealpost, 3)):
            with self.assertRaises(SealpostError):
                client.events.get("evt_1")
            self.assertEqual(len(server.asked), expected)
        self.assertEqual([asked.headers["x-mine"] for asked in server.asked], ["1", None, None])

    def test_has_no_key_that_all_its_calls_would_share(self) -> None:
        headers = {"Idempotency-Key": "fixed"}
        with self.assertRaisesRegex(ValueError, "as idempotency_key of the call"):
            Sealpost(url="https://a.example.com", key="k", headers=headers)
        with self.assertRaisesRegex(ValueError, "as idempotency_key of the call"):
            Sealpost(url="https://a.example.com", key="k").with_options(headers=headers)

    def test_is_given_bounds_by_their_names_alone(self) -> None:
        with self.assertRaises(TypeError):
            Sealpost(url="https://a.example.com", key="k", retry=1)  # type: ignore[call-arg]

    def test_waits_for_no_retry_that_would_begin_too_late(self) -> None:
        _, calls = self.serve(lambda _: BUSY, retry_for=0)
        began = monotonic()
        with self.assertRaises(ApiError):
            calls.ask(READ)
        self.assertLess(monotonic() - began, 1)

    def test_lists_pages_by_their_cursors_beside_what_was_asked_for(self) -> None:
        server, calls = self.serve(lambda nth: Reply(value={"data": [nth], "next_cursor": "n/2" if nth == 1 else None}))
        self.assertEqual(list(calls.list(Call("GET", "/v1/a", "idempotent", query={"limit": 1}))), [1, 2])
        self.assertEqual([asked.target for asked in server.asked], ["/v1/a?limit=1", "/v1/a?limit=1&cursor=n%2F2"])
