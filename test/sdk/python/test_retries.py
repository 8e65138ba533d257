from __future__ import annotations

import json
import unittest
from typing import get_args

from sealpost import Answer, ApiError, ConnectionError, SealpostError
from sealpost.errors import error_of
from sealpost.retries import Repeats, may_repeat, wait_seconds


def answer(status: int, code: str = "unknown", headers: dict[str, str] | None = None) -> ApiError:
    return error_of(Answer(status, headers or {}, json.dumps({"code": code, "detail": "No."}).encode()))


class WhatIsMadeAgain(unittest.TestCase):
    def test(self) -> None:
        cut = ConnectionError("cut")
        at_work = answer(409, "idempotency_in_progress")
        rows: list[tuple[SealpostError, list[str]]] = [
            (cut, ["key", "idempotent"]),
            (answer(429), ["key", "idempotent", "never"]),
            (answer(502), ["key", "idempotent"]),
            (answer(503), ["key", "idempotent"]),
            (answer(504), ["key", "idempotent"]),
            (at_work, ["key", "idempotent"]),
            (answer(500), []),
            (answer(409, "conflict"), []),
            (answer(401), []),
            (SealpostError("no"), []),
        ]
        for error, expected in rows:
            with self.subTest(str(error)):
                self.assertEqual([one for one in get_args(Repeats) if may_repeat(error, one)], expected)


class HowLongItWaits(unittest.TestCase):
    def test_half_a_second_doubling_to_eight_of_which_chance_takes_up_to_a_half(self) -> None:
        cut = ConnectionError("cut")
        waits = [wait_seconds(cut, made, 0) for made in (1, 2, 3, 4, 5, 6, 6000)]
        self.assertEqual(waits, [0.5, 1, 2, 4, 8, 8, 8])
        self.assertEqual((wait_seconds(cut, 1, 1), wait_seconds(cut, 60, 0.5)), (0.25, 6))

    def test_never_less_than_retry_after(self) -> None:
        error = answer(429, headers={"retry-after": "30"})
        self.assertEqual((wait_seconds(error, 1, 0), wait_seconds(error, 1, 1)), (30, 33))
