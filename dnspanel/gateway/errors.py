"""Why a DNS message is refused, as one tree. Errors of zones become an rcode where the message is answered.

GatewayError
├── MessageRefused        answered with its rcode
├── TlsRefused            a TLS connection that is closed before anything is asked
└── TsigRefused           the signature proves nothing
"""

import dns.rcode
import dns.tsig
from dns.rdtypes.ANY.TSIG import TSIG


class GatewayError(Exception):
    """A DNS message that the gateway does not carry out."""


class MessageRefused(GatewayError):
    """The message is answered with this rcode, and nothing was changed."""

    def __init__(self, rcode: dns.rcode.Rcode, reason: str) -> None:
        self.rcode = rcode
        super().__init__(reason)


class TlsRefused(GatewayError):
    """The connection is not let in; the text says what is wrong with the client."""


class TsigRefused(GatewayError):
    """The signature proves nothing; `key` is given where the answer has to be signed nevertheless.

    `secondary_id` is that of the secondary whose key was named, if it was one's.
    """

    def __init__(
        self,
        error: dns.rcode.Rcode,
        tsig: TSIG,
        owner: str,
        key: dns.tsig.Key | None = None,
        *,
        secondary_id: int | None = None,
        reason: str = "",
    ) -> None:
        self.error, self.tsig, self.owner, self.key, self.secondary_id = error, tsig, owner, key, secondary_id
        more = f": {reason}" if reason else ""
        super().__init__(f"{dns.rcode.to_text(error, tsig=True)} for the key {owner}{more}")
