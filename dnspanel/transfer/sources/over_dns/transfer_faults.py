"""Errors of zone transfers, and messages for a server's response codes."""

import dns.rcode

from dnspanel.texts import gettext, gettext_noop

TIMEOUT = "transfer-timeout"
TLS = "tls"  # the code of faults that prevent a TLS connection to the server


class NotGiven(Exception):
    """Raised if a server doesn't send a complete, valid zone or response. `code` names the kind of fault."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Broken(Exception):
    """Raised if a transfer breaks off or its records are inconsistent. Another attempt can succeed."""


_RCODE_MESSAGES: dict[int, str] = {
    dns.rcode.REFUSED: gettext_noop(
        "the server refused the transfer (REFUSED): allow our address or TSIG key on the server"
    ),
    dns.rcode.NOTAUTH: gettext_noop(
        "the server isn’t authoritative for the zone or doesn’t allow the transfer (NOTAUTH)"
    ),
    dns.rcode.NXDOMAIN: gettext_noop("the server doesn’t know the zone (NXDOMAIN)"),
    dns.rcode.SERVFAIL: gettext_noop(
        "the server failed (SERVFAIL): the zone might be expired or not loaded on the server"
    ),
    dns.rcode.NOTIMP: gettext_noop("the server doesn’t support zone transfers (NOTIMP)"),
}


def refusal(rcode: int) -> NotGiven:
    """Return the error for a server's response code."""
    text = dns.rcode.to_text(dns.rcode.Rcode.make(rcode))
    message = _RCODE_MESSAGES.get(rcode, gettext_noop("the server answered {rcode}"))
    return NotGiven(f"transfer-{text.lower()}", gettext(message).format(rcode=text))
