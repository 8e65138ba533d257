"""
The program of a project that has installed the wheel, as `test/sdk/journey.ts` is for TypeScript. It prints one
JSON object of what it found.
"""
from __future__ import annotations

import json
import os
from time import sleep
from typing import Any, Literal

import sealpost as package
from sealpost import ApiError, ConnectionError, InvalidRequestError, NotFoundError, Sealpost
from sealpost.types import NewEvent

url, cut_url, key = os.environ["SERVICE"], os.environ["CUT"], os.environ["KEY"]
sealpost = Sealpost(url=url, key=key)
told: dict[str, Any] = {"exports": package.__all__}

made = sealpost.endpoints.create(url=os.environ["RECEIVER"], event_types=["trip.*"], retry={"schedule": []})
told["secret"] = made.get("secret", "")[:6]

published = [sealpost.events.publish(type="trip.made", data={"n": n})["id"] for n in range(5)]
listed = [event["id"] for event in sealpost.events.list(type="trip.made", limit=2)]
told["listed"] = listed == published[::-1]
told["pages"] = [len(page["data"]) for page in sealpost.events.list(type="trip.made", limit=2).pages()]

once = Sealpost(url=cut_url, key=key).events.publish(type="trip.once", data={})
told["once"] = [event["id"] == once["id"] for event in sealpost.events.list(type="trip.once").page()["data"]]

big = sealpost.events.publish(type="big", data={"n": 12345678901234567890})
told["digits"] = sealpost.events.get(big["id"])["data"] == {"n": 12345678901234567890}

try:
    Sealpost(url="http://127.0.0.1:1", key=key, retries=0).project.get()
except ConnectionError:
    told["nobody"] = True
try:
    sealpost.events.get("evt_01KAHM9Q7W00A1B2C3D4E5F6G7")
except NotFoundError as error:
    told["missing"] = [error.status, error.code, len(error.request_id or "")]
try:
    sealpost.endpoints.create(url="nonsense")
except InvalidRequestError as error:
    told["invalid"] = [fault["pointer"] for fault in error.errors]
try:
    Sealpost(url=url, key="sp_test_wrong").project.get()
except ApiError as error:
    told["stranger"] = error.status

lost = sealpost.events.publish(type="trip.lost", data={})


def until(status: Literal["dead", "delivered"]) -> int:
    while True:
        page = sealpost.deliveries.list(event_id=lost["id"], status=status).page()
        if page["data"]:
            return len(page["data"])
        sleep(0.02)


told["dead"] = until("dead")
told["replayed"] = sealpost.replays.create(status=["dead"])["matched"]
told["delivered"] = until("delivered")

sealpost.endpoints.delete(made["id"])
try:
    sealpost.endpoints.get(made["id"])
except ApiError as error:
    told["deleted"] = type(error).__name__

# A body that is not there, one of bytes with headers of the sender, and an answer that is a text.
paused = sealpost.sources.create(provider="service", name="Ours")
told["source"] = sealpost.sources.pause(paused["id"])["status"]
try:
    sealpost.with_options(headers={"x-sender": "1"}).ingest.send(paused["id"], b"{}")
except ApiError as error:
    told["unsigned"] = error.status
told["kinds"] = "http" in [kind["kind"] for kind in sealpost.endpoints.list_destination_kinds()["data"]]
told["healthy"] = sealpost.system.get_health()["status"]


def never_called() -> None:
    """The type checker finds what stands here: where it did not, the comment would be one too many."""
    NewEvent(data={})  # type: ignore[typeddict-item]
    sealpost.events.publish(data={})  # type: ignore[call-arg]
    sealpost.endpoints.create(kind="poll", config={}, url="https://a.example.com")  # type: ignore[call-overload]
    sealpost.events.list(tpye="a")  # type: ignore[call-arg]
    sealpost.events.get("evt_1", idempotency_key="a")  # type: ignore[call-arg]


print(json.dumps(told))
