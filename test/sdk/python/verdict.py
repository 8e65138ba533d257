"""What the verifier says of a vector, in the words of the vectors."""
from __future__ import annotations

import base64
from typing import Any

from sealpost.verify import Webhook, WebhookError


def verdict_of(vector: dict[str, Any]) -> str:
    try:
        webhook = Webhook(vector["secrets"], tolerance=vector["tolerance_seconds"], now=lambda: vector["at"])
    except ValueError:
        return "malformed_secret"
    try:
        webhook.verify(vector["headers"], base64.b64decode(vector["body_base64"]))
    except WebhookError as error:
        return error.reason
    return "valid"
