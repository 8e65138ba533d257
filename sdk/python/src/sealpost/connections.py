"""
One request and its answer. It takes what Python brings: a library would make its version a matter of every
program that installs this one, and what it does besides (redirects, cookies, forms) is not needed here.
"""
from __future__ import annotations

import os
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import local
from time import monotonic
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

IDLE_SECONDS_MAX = 4
"""Servers close a connection that was idle for some time, most of them after 5 seconds or more."""


class Headers(Protocol):
    """The headers of an answer, whose names are in upper or lower case."""

    def get(self, name: str, /) -> str | None: ...


class Answer(NamedTuple):
    status: int
    headers: Headers
    body: bytes


class Send(Protocol):
    """Sends a request and gives the whole answer; raises an OSError where none comes. Follows no redirect."""

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer: ...


class PlainConnection(HTTPConnection):
    def __del__(self) -> None:
        # Python warns of a socket that nobody closed.
        self.close()


class SecureConnection(PlainConnection, HTTPSConnection):
    pass


class ConnectionPerThread(local):
    """Keeps one connection for each thread that calls it."""

    def __init__(self) -> None:
        self._kept: HTTPConnection | None = None
        self._key: tuple[object, ...] = ()
        self._used_at = 0.0

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer:
        scheme, host, path, query, _ = urlsplit(url)
        connection = self._connection_to(scheme, host, timeout)
        try:
            connection.request(method, f"{path}?{query}" if query else path, body, dict(headers))
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        except BaseException as error:
            # What is left of its answer is no answer of the next request.
            self.close()
            if isinstance(error, HTTPException):
                raise OSError(f"{type(error).__name__} {error}") from error
            raise
        self._used_at = monotonic()
        return answer

    def close(self) -> None:
        """Closes the connection of this thread."""
        if self._kept is not None:
            self._kept.close()
        self._kept = None

    def _connection_to(self, scheme: str, host: str, timeout: float) -> HTTPConnection:
        # A process that forks shares its connections with the new one, and would get its answers.
        key = (scheme, host, os.getpid())
        if self._key != key or monotonic() - self._used_at > IDLE_SECONDS_MAX:
            self.close()
        if self._kept is None:
            self._kept = (SecureConnection if scheme == "https" else PlainConnection)(host, timeout=timeout)
            self._key = key
        self._kept.timeout = timeout
        if self._kept.sock is not None:
            self._kept.sock.settimeout(timeout)
        return self._kept
