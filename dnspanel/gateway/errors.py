"""Why a DNS message is refused, as the rcode to answer with.

ZoneError
└── MessageRefused
Exception
└── TsigRefused           the signature proves nothing
"""

import dns.rcode
import dns.tsig
from dns.rdtypes.ANY.TSIG import TSIG

from dnspanel.zones.errors import ZoneError


class MessageRefused(ZoneError):
    """The message is answered with this rcode, and nothing was changed.

    A ZoneError, so that a retransmission whose first copy was carried out is
    found out by the verb that publishes: its prerequisites hold no longer.
    """

    def __init__(self, rcode: dns.rcode.Rcode, why: str) -> None:
        self.rcode = rcode
        super().__init__(why)


class TsigRefused(Exception):
    """The signature proves nothing; `key` is given where the answer has to be signed nevertheless."""

    def __init__(self, error: dns.rcode.Rcode, tsig: TSIG, owner: str, key: dns.tsig.Key | None = None) -> None:
        self.error, self.tsig, self.owner, self.key = error, tsig, owner, key
        super().__init__(f"{dns.rcode.to_text(error, tsig=True)} for the key {owner}")
