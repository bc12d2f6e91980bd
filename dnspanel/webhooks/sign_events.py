"""Sign events in the format of Standard Webhooks, so that receivers can verify them with its libraries.

- `webhook-id` is the same for every attempt and replay of one event.
- `webhook-timestamp` is the time of the attempt, in seconds since 1970.
- `webhook-signature` is "v1,<Base64 of HMAC-SHA256>" of "<id>.<timestamp>.<body>", one for each valid secret.
"""

import base64
import hashlib
import hmac
import secrets as chance
from collections.abc import Mapping, Sequence

SECRET_START = "whsec_"
# The allowed clock difference between sender and receiver, as in Standard Webhooks.
TOLERANCE_SECONDS = 300


def new_secret() -> str:
    """Return a secret of 256 random bits, in the format of Standard Webhooks libraries."""
    return SECRET_START + base64.b64encode(chance.token_bytes(32)).decode()


def signed_headers(*, message_id: str, timestamp: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the three headers that prove the body's sender and time."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{_signature(secret, signed)}" for secret in secrets),
    }


def is_signed(*, message_id: str, now: float, headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Return True if the headers prove that someone with the secret sent this body under this id recently."""
    moment = headers.get("webhook-timestamp", "")
    if not (moment.isascii() and moment.isdigit() and len(moment) < 12 and abs(int(moment) - now) <= TOLERANCE_SECONDS):
        return False
    result = f"v1,{_signature(secret, f'{message_id}.{moment}.'.encode() + body)}".encode()
    given = headers.get("webhook-signature", "").encode("utf-8", "replace").split(b" ")[:10]
    return headers.get("webhook-id") == message_id and any(hmac.compare_digest(each, result) for each in given)


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_START))
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
