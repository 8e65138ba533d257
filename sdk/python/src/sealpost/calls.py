"""How a call is made: its request, its attempts, what becomes of the answer."""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from random import random
from time import monotonic, sleep
from typing import Any, Self, TypedDict, Unpack
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from .connections import ConnectionPerThread, Send
from .errors import ConnectionError, NotFoundError, RateLimitError, SealpostError, error_of
from .lists import List
from .retries import Repeats, may_repeat, wait_seconds


class Bounds(TypedDict, total=False):
    """What holds for all calls of a client."""

    retries: int
    "How often a call that failed is made again. Default: 4."
    retry_for: float
    "No retry begins later than this many seconds after the call began. Default: 90."
    timeout: float
    "How many seconds an attempt waits for its connection, and for more of the answer. Default: 45."
    headers: Mapping[str, str]
    "Sent beside those of the client, with every call. Not `Idempotency-Key`, which each call has its own of."


@dataclass(frozen=True)
class Call:
    """One call, as the generated methods describe it."""

    method: str
    path: str
    "With `{name}` for each of `ids`, in their order."
    repeats: Repeats
    ids: tuple[str, ...] = ()
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    "Those that are parameters of the operation."
    body: Mapping[str, Any] | str | bytes | None = None
    "A mapping goes as JSON, a text or bytes as they are."
    is_open: bool = False
    "It is made without the key."


def dumps(value: object) -> str:
    """As short as JSON can be. NaN is no JSON: a ValueError."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True)
class Calls:
    """Makes the calls of a client."""

    url: str
    key: str = field(repr=False)
    loads: Callable[[str], Any]
    dumps: Callable[[Any], str]
    send: Send
    retries: int = 4
    retry_for: float = 90
    timeout: float = 45
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        # Of two calls under one key the second is not made, and gets the answer of the first.
        if any(name.lower() == "idempotency-key" for name in self.headers):
            raise ValueError("headers go with every call: give each its own key, as idempotency_key of the call")

    def ask(self, call: Call) -> Any:
        """The answer's JSON as a value, another answer's text, or None where it has no body."""
        url = self.url.rstrip("/") + _path_of(call) + _query_of(call.query)
        headers, body = self._request_of(call)
        ends_at = monotonic() + self.retry_for
        may_be_gone = False
        made = 0
        while True:
            made += 1
            try:
                return self._attempt(call.method, url, headers, body)
            except SealpostError as error:
                if may_be_gone and isinstance(error, NotFoundError):
                    return None
                wait = wait_seconds(error, made, random())
                is_in_bounds = made <= self.retries and monotonic() + wait <= ends_at
                if not is_in_bounds or not may_repeat(error, call.repeats):
                    raise
                # What an attempt deleted whose answer was lost, the next one does not find. A 429 deletes nothing.
                may_be_gone |= call.method == "DELETE" and not isinstance(error, RateLimitError)
            sleep(wait)

    def list(self, call: Call) -> List[Any, Any]:
        """A list, whose pages are fetched as they are needed."""

        def fetch(cursor: str | None) -> Any:
            return self.ask(call if cursor is None else replace(call, query={**call.query, "cursor": cursor}))

        return List(fetch)

    def _request_of(self, call: Call) -> tuple[dict[str, str], bytes | None]:
        """Raises a ValueError where a header cannot be sent."""
        own = {name: value for name, value in call.headers.items() if value is not None}
        given = {name.lower(): value for name, value in self.headers.items()}
        headers = {"user-agent": "sealpost-sdk-python", **given, **own}
        if not call.is_open:
            headers["authorization"] = f"Bearer {self.key}"
        if call.repeats == "key":
            headers.setdefault("idempotency-key", str(uuid4()))
        _expect_sendable(headers)
        if call.body is None or isinstance(call.body, bytes):
            return headers, call.body
        if isinstance(call.body, str):
            return headers, call.body.encode()
        headers["content-type"] = "application/json"
        return headers, self.dumps(call.body).encode()

    def _attempt(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Any:
        try:
            answer = self.send(method, url, headers, body, self.timeout)
        except OSError as error:
            what = f"no answer within {self.timeout} s" if isinstance(error, TimeoutError) else error
            raise ConnectionError(f"{method} {url}: {what}") from error
        if not 200 <= answer.status < 300:
            raise error_of(answer)
        text = answer.body.decode(errors="replace")
        is_json = re.match(r"application/json\b", answer.headers.get("content-type") or "")
        if text == "" or not is_json:
            return text or None
        try:
            return self.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConnectionError(f"{method} {url}: the answer is no JSON: {error}") from error


class Resource:
    """The calls of one resource."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls


class Client:
    """What stands around the generated methods. Any thread may use it."""

    def __init__(
        self,
        *,
        url: str,
        key: str,
        loads: Callable[[str], Any] = json.loads,
        dumps: Callable[[Any], str] = dumps,
        send: Send | None = None,
        **bounds: Unpack[Bounds],
    ) -> None:
        """
        url: where the installation answers, such as `https://hooks.example.com`.

        key: an API key, a portal token, the secret of a polled endpoint, or the operator's token.

        loads, dumps: how JSON becomes a value and the other way round. Python's own rounds numbers of more
        than 17 digits that have a fraction, also in the `data` of events.

        send: another way to the installation, such as through a proxy.
        """
        if not _is_address(url):
            raise ValueError("url must be an address that begins with https:// or http://")
        if key == "":
            raise ValueError("key is empty")
        # The text of the error shows no key: it may come into a log.
        if not re.fullmatch("[!-~]+", key):
            raise ValueError("key has a space, a line end or another character that no key has: give it without")
        self._calls = Calls(url, key, loads, dumps, send or ConnectionPerThread(), **bounds)

    def with_options(self, **bounds: Unpack[Bounds]) -> Self:
        """The same client under other bounds."""
        client = copy(self)
        client._calls = replace(self._calls, **bounds)
        return client


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # An unreadable port is a ValueError.
        has_host = bool(parts.hostname) and parts.port != 0 and parts.username is None
    except ValueError:
        return False
    return parts.scheme in ("https", "http") and has_host and not re.search(r"[\s?#]", url)


def _path_of(call: Call) -> str:
    """Raises a ValueError where an id would lead to another address."""
    for id in call.ids:
        if not isinstance(id, str) or id in ("", ".", ".."):
            raise ValueError(f"{id!r} is no id in {call.path}")
    ids = iter(call.ids)
    return re.sub(r"\{\w+\}", lambda _: quote(next(ids), safe=""), call.path)


def _expect_sendable(headers: Mapping[str, str]) -> None:
    """What Python itself says of such a header shows its value, which may be a secret."""
    for name, value in headers.items():
        if not re.fullmatch("[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise ValueError(f"{name!r} is no name of a header")
        if not isinstance(value, str) or not re.fullmatch("[\\t -~\x80-\xff]*", value):
            raise ValueError(f"The header {name} must be a text without line ends, and of Latin-1 alone")


def _query_of(query: Mapping[str, object]) -> str:
    """With the question mark; empty where nothing is asked."""
    given = {name: value for name, value in query.items() if value is not None}
    written = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
    return f"?{urlencode(written)}" if written else ""
