"""What a call raises. Each error is a SealpostError."""
from __future__ import annotations

import builtins
import json
from collections.abc import Sequence
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Any, TypedDict

from .connections import Answer

DETAIL_LENGTH_MAX = 200


class Fault(TypedDict):
    """One place of a request that is wrong."""

    pointer: str
    "A JSON Pointer into the body, or the name of a query parameter."
    detail: str


class SealpostError(Exception):
    """Any of these."""


class ConnectionError(SealpostError, builtins.ConnectionError):
    """
    No whole answer came: the connection failed or was cut, the time was over, what should be JSON is none, or a
    list has no end. `__cause__` is why. Python's own ConnectionError catches it too.
    """


class ApiError(SealpostError):
    """An answer that is no success."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: Sequence[Fault],
        request_id: str | None,
        retry_after: int | None,
    ) -> None:
        places = [f"{fault['pointer']}: {fault['detail']}" for fault in errors]
        super().__init__(f"{status} {code}: {'; '.join([detail, *places])}")
        self.status = status
        self.code = code
        """The code of the problem, such as `not_found`; `unknown` where the answer is none of Sealpost's."""
        self.detail = detail
        """One sentence."""
        self.errors = errors
        """The places of the request that are wrong; mostly empty."""
        self.request_id = request_id
        """`x-request-id`: by it whoever runs the service finds the call in the log."""
        self.retry_after = retry_after
        """After how many seconds to ask again, where the answer says so."""


class NotFoundError(ApiError):
    """404: there is nothing of this id, or no longer."""


class ConflictError(ApiError):
    """409: what is there already stands against it."""


class InvalidRequestError(ApiError):
    """422: `errors` says which places of the request are wrong."""


class RateLimitError(ApiError):
    """429: too many calls. The retries have been made already."""


BY_STATUS = {404: NotFoundError, 409: ConflictError, 422: InvalidRequestError, 429: RateLimitError}


def error_of(answer: Answer) -> ApiError:
    """The error of an answer that is no success."""
    problem = _read_problem(answer.body)
    return BY_STATUS.get(answer.status, ApiError)(
        answer.status,
        problem.get("code", "unknown"),
        problem.get("detail") or _without_problem(answer),
        _read_faults(problem.get("errors")),
        answer.headers.get("x-request-id") or _text_or_none(problem.get("request_id")),
        _read_retry_after(answer.headers.get("retry-after")),
    )


def _read_problem(body: bytes) -> dict[str, Any]:
    """Empty where the body is no problem of Sealpost's: a proxy in front of it may have answered."""
    try:
        read = json.loads(body)
    # A body may be nested deeper than Python goes.
    except (ValueError, RecursionError):
        return {}
    is_problem = isinstance(read, dict) and all(isinstance(read.get(name), str) for name in ("code", "detail"))
    return read if is_problem else {}


def _read_faults(errors: object) -> list[Fault]:
    """Without entries of another shape than ours."""
    entries = [entry for entry in errors if isinstance(entry, dict)] if isinstance(errors, list) else []
    pairs = [(entry.get("pointer"), entry.get("detail")) for entry in entries]
    return [
        {"pointer": pointer, "detail": detail}
        for pointer, detail in pairs
        if isinstance(pointer, str) and isinstance(detail, str)
    ]


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _without_problem(answer: Answer) -> str:
    location = answer.headers.get("location")
    if location is not None:
        return f"It leads to {location}: give that address as url"
    text = answer.body.decode(errors="replace").strip()
    return text[:DETAIL_LENGTH_MAX] or f"An answer of {answer.status} without a body"


def _read_retry_after(text: str | None) -> int | None:
    """`retry-after` in seconds, of either form; None where there is none that can be read."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    try:
        at = parsedate_to_datetime(text)
        # Without a zone it is GMT.
        wait = (at if at.tzinfo else at.replace(tzinfo=timezone.utc)) - datetime.now(timezone.utc)
    # A zone may be longer than any time that Python has.
    except (ValueError, OverflowError):
        return None
    return max(0, ceil(wait.total_seconds()))
