from __future__ import annotations

import base64
import hmac
import json
import sys
import unittest
from datetime import datetime, timezone
from email.message import Message
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sealpost import verify
from sealpost.verify import Webhook, WebhookError
from verdict import verdict_of

KEY = b"k" * 32
SECRET = "whsec_" + base64.b64encode(KEY).decode()
AT = 1795165200
BODY = '{"type":"order.paid","data":{"n":12345678901234567890}}'
PUBLIC_KEY = "whpk_dVxMuSVsp83ErP3Gz+7ahJAX5bn5UU6ZGRvWfgsNQnY="


def sign(body: str | bytes) -> dict[str, str]:
    raw = body.encode() if isinstance(body, str) else body
    code = hmac.digest(KEY, f"msg_1.{AT}.".encode() + raw, "sha256")
    signature = "v1," + base64.b64encode(code).decode()
    return {"webhook-id": "msg_1", "webhook-timestamp": str(AT), "webhook-signature": signature}


def at() -> float:
    return AT


class TheVectors(unittest.TestCase):
    def test_of_v1_say_what_it_says(self) -> None:
        """All of them are held against the installed package, in test/slow/sdk.slow.ts."""
        file: Any = json.loads((Path(__file__).parents[3] / "sdk/vectors.json").read_text())
        asked = [one for one in file["vectors"] if not any(text.startswith("whpk_") for text in one["secrets"])]
        self.assertGreater(len(asked), 50)
        for vector in asked:
            with self.subTest(vector["name"]):
                self.assertEqual(verdict_of(vector), vector["verdict"])


class AVerifier(unittest.TestCase):
    def test_reads_headers_of_any_form_and_bodies_as_text_and_bytes(self) -> None:
        message = Message()
        for name, value in sign(BODY).items():
            message[name.title()] = value
        for headers in (sign(BODY), message):
            for body in (BODY, BODY.encode()):
                verified = Webhook(SECRET, now=at).verify(headers, body)
                self.assertEqual((verified.id, verified.text), ("msg_1", BODY))
                self.assertEqual(verified.sent_at, datetime.fromtimestamp(AT, timezone.utc))
                self.assertEqual(verified.json()["data"]["n"], 12345678901234567890)

    def test_makes_its_code_once_however_many_entries_there_are(self) -> None:
        entries = " ".join(["v1," + base64.b64encode(bytes(32)).decode()] * 330)
        headers = sign(BODY)
        with patch.object(verify.hmac, "digest", wraps=hmac.digest) as signing:
            with self.assertRaises(WebhookError):
                Webhook(SECRET, now=at).verify({**headers, "webhook-signature": entries}, BODY)
        self.assertEqual(signing.call_count, 1)
        last = {**headers, "webhook-signature": f"{entries} {headers['webhook-signature']}"}
        self.assertEqual(Webhook(SECRET, now=at).verify(last, BODY).text, BODY)

    def test_keeps_a_byte_order_mark_as_it_is_signed(self) -> None:
        body = "\ufeff{}"
        self.assertEqual(Webhook(SECRET, now=at).verify(sign(body), body).text, body)

    def test_takes_no_body_that_was_parsed_already(self) -> None:
        with self.assertRaisesRegex(TypeError, "Give the raw body"):
            Webhook(SECRET, now=at).verify(sign(BODY), json.loads(BODY))

    def test_says_why_it_refuses(self) -> None:
        rows: list[tuple[dict[str, str], int, str]] = [
            ({"webhook-id": "", "webhook-signature": ""}, 0, "no webhook-id and no webhook-sig"),
            ({"webhook-id": "msg_1.2"}, 0, "has a dot"),
            ({"webhook-timestamp": "soon"}, 0, "no number of seconds"),
            ({"webhook-signature": "v2,AAAA"}, 0, "no v1, which the secret verifies"),
            ({"webhook-id": "msg_2"}, 0, "body or a header was changed"),
            ({}, 61, "It is 61 s old, and 60 s are allowed"),
            ({}, -61, "It is 61 s in the future, and 60 s are allowed"),
        ]
        for changes, later, message in rows:
            webhook = Webhook(SECRET, tolerance=60, now=lambda: AT + later)
            with self.subTest(message), self.assertRaisesRegex(WebhookError, message):
                webhook.verify({**sign(BODY), **changes}, BODY)

    def test_refuses_what_is_no_text_as_wrongly_signed(self) -> None:
        """aiohttp gives the byte 0xff of a header as the surrogate U+DCFF."""
        rows: list[tuple[dict[str, str], str]] = [
            ({"webhook-id": "msg_1\udcff"}, BODY),
            ({"webhook-id": "msg_1\ud800"}, BODY),
            ({"webhook-signature": "v1,\udcff"}, BODY),
            ({}, BODY + "\udcff"),
            ({}, BODY + "\ud800"),
        ]
        for changes, body in rows:
            with self.subTest(changes), self.assertRaises(WebhookError) as raised:
                Webhook(SECRET, now=at).verify({**sign(BODY), **changes}, body)
            self.assertEqual(raised.exception.reason, "wrong_signature")
        for name, value in {"webhook-timestamp": f"{AT}\udcff", "webhook-id": "\udcff."}.items():
            with self.assertRaises(WebhookError) as raised:
                Webhook(SECRET, now=at).verify({**sign(BODY), name: value}, BODY)
            self.assertEqual(raised.exception.reason, "no_header")

    def test_takes_no_surrogates_for_the_text_whose_bytes_they_stand_for(self) -> None:
        body = "ü"
        with self.assertRaises(WebhookError):
            Webhook(SECRET, now=at).verify(sign(body), body.encode().decode("ascii", "surrogateescape"))

    def test_is_not_made_of_what_is_no_secret(self) -> None:
        for secrets in ([], "whsk_" + base64.b64encode(bytes(64)).decode(), "sp_live_x", [SECRET, "whsec_AA=="]):
            with self.assertRaises(ValueError):
                Webhook(secrets)
        for tolerance in (float("nan"), -1, float("inf")):
            with self.assertRaisesRegex(ValueError, "tolerance must be"):
                Webhook(SECRET, tolerance=tolerance)

    def test_says_what_a_public_key_needs_that_is_not_installed(self) -> None:
        # None in place of a module: an import of it fails, whether it is installed or not.
        with patch.dict(sys.modules, {"cryptography": None, "cryptography.exceptions": None}):
            with self.assertRaisesRegex(ImportError, r'pip install "sealpost-sdk\[ed25519\]"'):
                Webhook(PUBLIC_KEY)
