"""
Verifies deliveries by Standard Webhooks 1.0.0: `v1` (HMAC-SHA256) and `v1a` (ed25519) over
`id.timestamp.body`. `v1` takes what Python brings; `v1a` takes the package cryptography, as Python has no
ed25519.
"""
from __future__ import annotations

import hmac
import json
import math
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal, Protocol

Reason = Literal["no_header", "wrong_signature", "too_old", "too_new"]
"""
Why a request is refused, in the words of `sealpost verify`. `no_header`: one of the three headers is missing,
the id has a dot, or the timestamp is no number of seconds. `wrong_signature`: no signature is right. `too_old`,
`too_new`: a signature is right, and the timestamp is further from the clock than is allowed.
"""

HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")
SECONDS = re.compile("0|[1-9][0-9]{0,11}")
ED25519_ENTRIES_MAX = 8
"""So many signatures of `v1a` are verified: each reads the whole body. A sender gives one or two."""


class WebhookError(Exception):
    """A request that is not to be trusted."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


class Headers(Protocol):
    """The headers of a request, as every framework has them. Names are in upper or lower case."""

    def items(self) -> Iterable[tuple[str, str]]: ...


@dataclass(frozen=True)
class Verified:
    """A request that is genuine, and what it says."""

    id: str
    "`webhook-id`: the same on every attempt of a delivery. Drop what you have already by it."
    sent_at: datetime
    text: str
    "The very text that was signed."

    def json(self) -> Any:
        """The text as a value. A number with a fraction and more than 17 digits is rounded."""
        return json.loads(self.text)


@dataclass(frozen=True)
class Verifier:
    """What one secret verifies: the entries of its version."""

    version: Literal["v1", "v1a"]
    is_signed: Callable[[bytes, list[bytes]], bool]


class Webhook:
    """Verifies requests by one or several secrets."""

    def __init__(
        self,
        secrets: str | Sequence[str],
        *,
        tolerance: float = 300,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        secrets: one or several of `whsec_…`, the secret of an endpoint, and `whpk_…`, its public key. With the
        old and the new one a receiver takes what either has signed.

        tolerance: how old a request may be, and how far in the future, in seconds. now: the clock, in seconds
        since 1970.

        Raises a ValueError where a text is no such secret, and where the tolerance is no number from 0 on; an
        ImportError where a public key needs what is not installed.
        """
        every = [secrets] if isinstance(secrets, str) else secrets
        if len(every) == 0:
            raise ValueError("Give at least one secret")
        if not (math.isfinite(tolerance) and tolerance >= 0):
            raise ValueError("tolerance must be a number of seconds, 0 or more")
        self._verifiers = [_verifier_of(secret) for secret in every]
        self._tolerance = tolerance
        self._now = now

    def verify(self, headers: Headers, body: str | bytes) -> Verified:
        """
        Answers the request if it is genuine. body: the raw body as it came, before anything has parsed it.

        Raises a WebhookError, whose `reason` says what is wrong, where it is not.
        """
        if not isinstance(body, (str, bytes)):
            raise TypeError("Give the raw body: its text or its bytes, not what a parser made of it")
        id, timestamp, signatures = _read_headers(headers)
        raw = _utf8(body) if isinstance(body, str) else body
        self._expect_signed(re.split(r",?\s+", signatures), _utf8(f"{id}.{timestamp}.") + raw)
        self._expect_fresh(int(timestamp))
        sent_at = datetime.fromtimestamp(int(timestamp), timezone.utc)
        return Verified(id, sent_at, raw.decode(errors="replace"))

    def _expect_signed(self, entries: Sequence[str], content: bytes) -> None:
        if any(one.is_signed(content, _signatures_of(one, entries)) for one in self._verifiers):
            return
        versions = list(dict.fromkeys(one.version for one in self._verifiers))
        if any(entry.startswith(f"{version},") for entry in entries for version in versions):
            problem = "No signature is right: the secret is another one, or the body or a header was changed"
        else:
            problem = f"Its webhook-signature has no {' and no '.join(versions)}, which the secret verifies"
        raise WebhookError("wrong_signature", problem)

    def _expect_fresh(self, seconds: int) -> None:
        age = math.floor(self._now() - seconds + 0.5)
        if age > self._tolerance:
            raise WebhookError("too_old", f"It is {age} s old, and {self._tolerance} s are allowed")
        if -age > self._tolerance:
            raise WebhookError("too_new", f"It is {-age} s in the future, and {self._tolerance} s are allowed")


def _signatures_of(verifier: Verifier, entries: Sequence[str]) -> list[bytes]:
    mark = f"{verifier.version},"
    decoded = [_decode_base64(entry.removeprefix(mark)) for entry in entries if entry.startswith(mark)]
    return [signature for signature in decoded if signature is not None]


def _verifier_of(text: str) -> Verifier:
    kind, _, encoded = text.partition("_")
    key = _decode_base64(encoded)
    if kind == "whsec" and key is not None and 24 <= len(key) <= 64:
        return _hmac_verifier(key)
    if kind == "whpk" and key is not None and len(key) == 32:
        return _ed25519_verifier(key)
    raise ValueError("A secret must be whsec_ and 24 to 64 bytes, or whpk_ and 32, in base64")


def _hmac_verifier(secret: bytes) -> Verifier:
    def is_signed(content: bytes, signatures: list[bytes]) -> bool:
        # Made once, however many entries a request has: it reads the whole body.
        code = hmac.digest(secret, content, "sha256")
        return any(hmac.compare_digest(signature, code) for signature in signatures)

    return Verifier("v1", is_signed)


def _ed25519_verifier(public_key: bytes) -> Verifier:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        what = 'A public key (whpk_) needs the package cryptography: pip install "sealpost-sdk[ed25519]"'
        raise ImportError(what) from error
    key = Ed25519PublicKey.from_public_bytes(public_key)

    def is_genuine(content: bytes, signature: bytes) -> bool:
        try:
            key.verify(signature, content)
        except InvalidSignature:
            return False
        return True

    def is_signed(content: bytes, signatures: list[bytes]) -> bool:
        whole = [signature for signature in signatures if len(signature) == 64]
        return any(is_genuine(content, signature) for signature in whole[:ED25519_ENTRIES_MAX])

    return Verifier("v1a", is_signed)


def _read_headers(headers: Headers) -> tuple[str, str, str]:
    given = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in HEADERS if not given.get(name)]
    if missing:
        raise WebhookError("no_header", f"It has no {' and no '.join(missing)}")
    id, timestamp, signatures = (given[name] for name in HEADERS)
    # Else a forger moves the dot behind the timestamp, for a body that begins with digits and a dot.
    if "." in id:
        raise WebhookError("no_header", "Its webhook-id has a dot, which no id has")
    if not SECONDS.fullmatch(timestamp):
        raise WebhookError("no_header", "Its webhook-timestamp is no number of seconds")
    return id, timestamp, signatures


def _utf8(text: str) -> bytes:
    """
    Frameworks decode a byte of a header that is no UTF-8 as a surrogate, which UTF-8 has not. It becomes bytes
    that no other text has, so the signature of a genuine text is wrong for it.
    """
    return text.encode(errors="surrogatepass")


def _decode_base64(text: str) -> bytes | None:
    """None where the text is no base64, or not the one text that its bytes are written as."""
    try:
        decoded = b64decode(text)
    except ValueError:
        return None
    return decoded if decoded and b64encode(decoded).decode() == text else None
