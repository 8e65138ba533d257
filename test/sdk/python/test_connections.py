from __future__ import annotations

import gc
import os
import ssl
import unittest
import warnings
from threading import Event, Thread
from time import monotonic
from unittest.mock import patch

from sealpost.connections import Answer, ConnectionPerThread
from serving import Reply, Server


class AConnection(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(self, lambda nth: None if nth == 4 else Reply(value=nth))
        self.send = ConnectionPerThread()
        self.addCleanup(self.send.close)

    def ask(self) -> Answer:
        return self.send("GET", f"{self.server.url}/a?b=c", {}, None, 5)

    def ports(self) -> list[int]:
        return [asked.client[1] for asked in self.server.asked]

    def test_is_kept_and_opened_again_after_it_was_idle_or_cut(self) -> None:
        for expected in (b"1", b"2"):
            self.assertEqual(self.ask().body, expected)
        with patch("sealpost.connections.IDLE_SECONDS_MAX", -1):
            self.assertEqual(self.ask().body, b"3")
        with self.assertRaises(OSError):
            self.ask()
        self.assertEqual(self.ask().body, b"5")
        first, second, third, cut, last = self.ports()
        self.assertEqual((first, third), (second, cut))
        self.assertEqual(len({first, third, last}), 3)
        self.assertEqual(self.server.asked[0].target, "/a?b=c")

    def test_is_each_threads_own(self) -> None:
        self.ask()
        other = Thread(target=lambda: (self.ask(), self.send.close()))
        other.start()
        other.join()
        self.ask()
        first, second, third = self.ports()
        self.assertEqual((first == third, first == second), (True, False))

    def test_is_not_shared_with_a_process_that_was_forked(self) -> None:
        self.ask()
        with patch("os.getpid", return_value=os.getpid() + 1):
            self.ask()
        first, second = self.ports()
        self.assertNotEqual(first, second)

    def test_to_another_server_is_another_one(self) -> None:
        self.ask()
        other = Server(self, lambda _: Reply(404, "other"))
        self.assertEqual(self.send("GET", other.url + "/", {}, None, 5).status, 404)

    def test_to_an_https_address_speaks_tls(self) -> None:
        with self.assertRaises(ssl.SSLError):
            self.send("GET", self.server.url.replace("http", "https"), {}, None, 5)

    def test_that_breaks_off_is_an_os_error_and_not_kept(self) -> None:
        broken = Reply(text="x\r\n", headers={"transfer-encoding": "chunked"})
        server = Server(self, lambda nth: (None, broken)[nth - 1] if nth < 3 else Reply(value=nth))
        for _ in range(2):
            with self.assertRaises(OSError):
                self.send("GET", server.url + "/", {}, None, 5)
        self.assertEqual(self.send("GET", server.url + "/", {}, None, 5).body, b"3")

    def test_has_the_time_of_each_request_and_is_not_kept_where_that_is_over(self) -> None:
        ended = Event()
        self.addCleanup(ended.set)
        closing = {"connection": "close"}

        def answer(nth: int) -> Reply | None:
            if nth % 3 == 2:
                ended.wait()
            return None if nth % 3 == 2 else Reply(value=nth, headers=closing if nth == 4 else {})

        server = Server(self, answer)
        for expected in (b"1", b"4"):
            self.assertEqual(self.send("GET", server.url + "/", {}, None, 5).body, expected)
            began = monotonic()
            with self.assertRaises(TimeoutError):
                self.send("GET", server.url + "/", {}, None, 0.1)
            self.assertLess(monotonic() - began, 2)
            last = self.send("GET", server.url + "/", {}, None, 5).body
            self.assertEqual(int(last), int(expected) + 2)

    def test_closes_itself_where_nobody_needs_it_any_more(self) -> None:
        send = ConnectionPerThread()
        send("GET", self.server.url + "/", {}, None, 5)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            del send
            gc.collect()
        self.assertEqual([str(one.message) for one in warned], [])
