"""Errors for refused DNS messages. Errors of the package `zones` become an rcode when the message is answered.

GatewayError is the base class. A MessageRefused is answered with its rcode. A TlsRefused closes a TLS connection before
any query. A TsigRefused means that the signature is not valid.
"""

import dns.rcode
import dns.tsig
from dns.rdtypes.ANY.TSIG import TSIG


class GatewayError(Exception):
    """The gateway refuses a DNS message or a connection."""


class MessageRefused(GatewayError):
    """The message is answered with this rcode and changes nothing."""

    def __init__(self, rcode: dns.rcode.Rcode, reason: str) -> None:
        self.rcode = rcode
        super().__init__(reason)


class TlsRefused(GatewayError):
    """The TLS connection is refused. The message describes the client's error."""


class TsigRefused(GatewayError):
    """A message's signature is not valid. If `key` is given, the answer must still be signed with it.

    If the message names a secondary's key, `secondary_id` is the secondary's id.
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
