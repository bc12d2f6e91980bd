"""TSIG for zone transfers (RFC 8945): keys, and the verification of signed responses."""

import base64
import binascii
import time
from dataclasses import dataclass, field

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.tsig

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.sources.over_dns.dns_wire import BadMessage, Message
from dnspanel.transfer.sources.over_dns.transfer_faults import NotGiven
from replication.dns import names
from replication.errors import BadName

_MOST_UNSIGNED = 100  # consecutive messages (RFC 8945)

_ALGORITHMS = {
    name.to_text(omit_final_dot=True).lower(): name
    for name in (
        dns.tsig.HMAC_MD5,
        dns.tsig.HMAC_SHA1,
        dns.tsig.HMAC_SHA224,
        dns.tsig.HMAC_SHA256,
        dns.tsig.HMAC_SHA256_128,
        dns.tsig.HMAC_SHA384,
        dns.tsig.HMAC_SHA384_192,
        dns.tsig.HMAC_SHA512,
        dns.tsig.HMAC_SHA512_256,
    )
}
_ALGORITHMS["hmac-md5"] = dns.tsig.HMAC_MD5
ALGORITHMS = tuple(_ALGORITHMS)


@dataclass(frozen=True, slots=True)
class TsigKey:
    """A TSIG key for zone transfers. `secret` is Base64 text and isn't shown in the repr."""

    name: str
    algorithm: str
    secret: str = field(repr=False)


def parsed_name(text: str) -> str:
    """Return a name in canonical form. Raise SourceRefused if the text is not a valid name."""
    try:
        return names.parse(text)
    except BadName as exc:
        raise SourceRefused(str(exc)) from exc


def key_of(key: TsigKey | None) -> dns.tsig.Key | None:
    """Convert the key to dnspython's form, or return None if `key` is None. Raise SourceRefused if it is invalid."""
    if key is None:
        return None
    algorithm = _ALGORITHMS.get(key.algorithm.strip().lower().rstrip("."))
    if algorithm is None:
        raise SourceRefused(
            gettext("“{algorithm}” isn’t a supported TSIG algorithm; supported: {list}").format(
                algorithm=key.algorithm, list=", ".join(ALGORITHMS)
            )
        )
    try:
        secret = base64.b64decode("".join(key.secret.split()), validate=True)
        return dns.tsig.Key(dns.name.from_text(parsed_name(key.name)), secret, algorithm)
    except binascii.Error:
        raise SourceRefused(
            gettext("the secret for the TSIG key {name} isn’t valid Base64").format(name=key.name)
        ) from None


class Signatures:
    """Verifier of a transfer's TSIG signatures. Each covers all messages since the previous one (RFC 8945 5.3.1)."""

    def __init__(self, key: dns.tsig.Key | None, request_mac: bytes) -> None:
        self._key, self._mac = key, request_mac
        self._context: dns.tsig.HMACTSig | dns.tsig.GSSTSig | None = None
        self._unsigned = 0

    def check(self, message: Message) -> None:
        """Raise NotGiven for an invalid signature or too many consecutive unsigned messages, if a key is set."""
        place = message.signature
        if self._key is None:
            return
        if place is None:
            self._unsigned += 1
            if self._unsigned >= _MOST_UNSIGNED:
                raise NotGiven("tsig", gettext("the server doesn’t sign often enough"))
            if self._context is not None:
                self._context.update(message.wire)  # type: ignore[no-untyped-call]
            return
        self._unsigned = 0
        try:
            rdata = dns.rdata.from_wire(
                dns.rdataclass.ANY, dns.rdatatype.TSIG, message.wire, place.rdata, place.end - place.rdata
            )
            owner = dns.name.from_text(message.owner(place))
            self._context = dns.tsig.validate(  # type: ignore[no-untyped-call]
                message.wire,
                self._key,
                owner,
                rdata,
                int(time.time()),
                self._mac,
                place.start,
                self._context,
                multi=True,
            )
        except (dns.exception.DNSException, BadMessage) as exc:
            reason = _TSIG_MESSAGES.get(type(exc), gettext_noop("the server’s signature is invalid: {exc}"))
            raise NotGiven("tsig", gettext(reason).format(exc=exc)) from exc


_TSIG_MESSAGES: dict[type[Exception], str] = {
    dns.tsig.PeerBadKey: gettext_noop("the server doesn’t know a TSIG key with this name and algorithm (BADKEY)"),
    dns.tsig.PeerBadSignature: gettext_noop("the server rejected the signature: the TSIG secret differs (BADSIG)"),
    dns.tsig.PeerBadTime: gettext_noop("the server’s clock differs too much from the panel’s (BADTIME)"),
    dns.tsig.BadTime: gettext_noop("the server’s clock differs too much from the panel’s (BADTIME)"),
    dns.tsig.PeerBadTruncation: gettext_noop("the server rejected this algorithm’s short signatures (BADTRUNC)"),
    dns.tsig.BadSignature: gettext_noop("the signature on the server’s answer is invalid: the TSIG secret differs"),
}
