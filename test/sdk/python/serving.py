"""A real server of answers, and what it was asked."""
from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple
from unittest import TestCase


class Asked(NamedTuple):
    method: str
    target: str
    headers: Any
    body: str
    client: tuple[str, int]


class Reply(NamedTuple):
    status: int = 200
    value: Any = None
    headers: dict[str, str] = {}
    text: str | None = None
    "In place of the value, which is JSON."


class Server:
    """`answer` gets the number of the request, from 1 on; with None it cuts the connection."""

    def __init__(self, case: TestCase, answer: Callable[[int], Reply | None]) -> None:
        asked: list[Asked] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                asked.append(Asked(self.command, self.path, self.headers, body, self.client_address))
                reply = answer(len(asked))
                if reply is None:
                    self.close_connection = True
                    return
                is_json = reply.text is None
                content = (json.dumps(reply.value) if is_json else reply.text or "").encode()
                self.send_response(reply.status)
                given = {"content-type": "application/json; charset=utf-8"} if is_json else {}
                for name, value in {**given, **reply.headers, "content-length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = do_OPTIONS = handle_one

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        case.addCleanup(server.server_close)
        case.addCleanup(server.shutdown)
        self.asked = asked
        self.url = f"http://127.0.0.1:{server.server_port}"
