"""The client of Sealpost. The verifier of its deliveries is in `sealpost.verify`, the types in `sealpost.types`."""
from .calls import Bounds
from .connections import Answer, Send
from .errors import (
    ApiError,
    ConflictError,
    ConnectionError,
    Fault,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    SealpostError,
)
from .lists import List
from .methods import Sealpost

__all__ = [
    "Answer",
    "ApiError",
    "Bounds",
    "ConflictError",
    "ConnectionError",
    "Fault",
    "InvalidRequestError",
    "List",
    "NotFoundError",
    "RateLimitError",
    "Sealpost",
    "SealpostError",
    "Send",
]
