"""Verify the TSIG (RFC 8945) of messages, and sign answers.

The keys are read from PostgreSQL for every message, so a revoked key stops working immediately. dnspython computes the
signatures. The current time is an argument.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.tsig
import dns.wire
from dns.rdtypes.ANY.TSIG import TSIG

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.errors import BadToken
from dnspanel.accounts.models import Token, TokenKind
from dnspanel.accounts.tokens.tokens import actor_by_token, tsig_secret
from dnspanel.accounts.tokens.tsig_secrets import OF_SECONDARIES
from dnspanel.gateway import notify_in
from dnspanel.gateway.errors import TsigRefused
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.primary_keys import key_for
from dnspanel.secondaries import secondary_keys
from dnspanel.secondaries.models import Secondary
from dnspanel.secondaries.server_addresses import is_within
from dnspanel.texts import gettext
from replication.dns import names
from replication.errors import BadName

# The allowed clock difference, regardless of the client's value (RFC 8945 section 10 recommends this), because that
# value decides how long a captured message can be replayed.
FUDGE = 300
_OFFICIAL_NAMES = {"hmac-md5": dns.tsig.HMAC_MD5}
_HEADER = struct.Struct(">HHHHHH")
_RECORD = struct.Struct(">HHIH")
# dnspython declares no types here.
_validate: Callable[..., object] = dns.tsig.validate
_sign: Callable[..., tuple[TSIG, Any]] = dns.tsig.sign
_make: Callable[..., TSIG] = TSIG


@dataclass(frozen=True, slots=True)
class Signed:
    """A verified signature with a token's key, and the token's actor."""

    actor: Actor
    token: Token
    key: dns.tsig.Key
    tsig: TSIG

    @property
    def holder(self) -> str:
        """A unique id of the key's holder."""
        return str(self.token.pk)

    @property
    def key_name(self) -> str:
        return str(self.token.tsig_name)


@dataclass(frozen=True, slots=True)
class SignedBySecondary:
    """A verified signature with one of a secondary's keys."""

    secondary: Secondary
    key: dns.tsig.Key
    tsig: TSIG

    @property
    def holder(self) -> str:
        """A unique id of the key's holder."""
        return f"secondary {self.secondary.pk}"

    @property
    def key_name(self) -> str:
        return self.secondary.tsig_name


@dataclass(frozen=True, slots=True)
class SignedByPrimary:
    """A NOTIFY's verified signature with the key of a zone's primaries. `row` is the zone with its primaries."""

    row: TransferredZone
    key: dns.tsig.Key
    tsig: TSIG

    @property
    def key_name(self) -> str:
        return self.key.name.to_text()


Signature = Signed | SignedBySecondary | SignedByPrimary


def verify(message: dns.message.Message, wire: bytes, *, address: str, now: datetime) -> Signature | None:
    """Return a message's verified signature, or None if it is unsigned.

    Raise TsigRefused for an unknown key or an invalid signature, and ValueError for a request with a TSIG error.
    """
    if message.tsig is None:
        return None
    tsig = message.tsig[0]
    assert isinstance(tsig, TSIG)
    owner = message.tsig.name
    name = _name(owner)
    if notify_in.is_notice(message):
        return _verify_primary(message, tsig, owner, wire, now)
    if name is not None and name.endswith(f".{OF_SECONDARIES}"):
        return _verify_secondary(name, tsig, owner, wire, address, now)
    token = None if name is None else _token(name)
    if token is None:
        raise TsigRefused(dns.rcode.BADKEY, tsig, owner.to_text())
    algorithm = _OFFICIAL_NAMES.get(token.tsig_algorithm) or dns.name.from_text(token.tsig_algorithm)
    key = dns.tsig.Key(owner, tsig_secret(token), algorithm)
    with _refusing(tsig, owner, lambda: key):
        _refuse_invalid(wire, key, tsig, now)
        actor = actor_by_token(token=token, address=address, now=now)
    return Signed(actor, token, key, tsig)


def _verify_secondary(
    name: str, tsig: TSIG, owner: dns.name.Name, wire: bytes, address: str, now: datetime
) -> SignedBySecondary:
    secondary = secondary_keys.secondary_by_key_name(name)
    if secondary is None:
        raise TsigRefused(dns.rcode.BADKEY, tsig, owner.to_text())
    with _refusing(tsig, owner, lambda: secondary_keys.key_of(secondary), secondary.pk):
        key = _signing_key(secondary_keys.good_keys_of(secondary, now), tsig, wire, now)
    if not is_within(address, secondary.networks, secondary.addresses):
        # A client must not learn what is wrong with its key. The secondary's page shows it.
        reason = gettext("the request came from {address}, which isn’t in the secondary’s networks").format(
            address=address
        )
        raise TsigRefused(dns.rcode.BADKEY, tsig, owner.to_text(), secondary_id=secondary.pk, reason=reason)
    return SignedBySecondary(secondary, key, tsig)


def _verify_primary(
    message: dns.message.Message, tsig: TSIG, owner: dns.name.Name, wire: bytes, now: datetime
) -> SignedByPrimary:
    """Return a NOTIFY's verified signature. Raise TsigRefused if it is invalid or not from the zone's primaries."""
    row = notify_in.row_for(message)
    key = None if row is None else key_for(row)
    if row is None or key is None or key.name != owner:
        raise TsigRefused(dns.rcode.BADKEY, tsig, owner.to_text())
    with _refusing(tsig, owner, lambda: key):
        _refuse_invalid(wire, key, tsig, now)
    return SignedByPrimary(row, key, tsig)


@contextmanager
def _refusing(
    tsig: TSIG, owner: dns.name.Name, key: Callable[[], dns.tsig.Key], secondary_id: int | None = None
) -> Iterator[None]:
    """Convert signature errors to TsigRefused. If the time is wrong, add the key for the answer (RFC 8945 5.2.3).

    A request that contains the TSIG error of an answer raises ValueError instead.
    """
    try:
        yield
    except dns.tsig.BadTime as exc:
        raise TsigRefused(dns.rcode.BADTIME, tsig, owner.to_text(), key(), secondary_id=secondary_id) from exc
    except dns.tsig.BadSignature as exc:
        raise TsigRefused(dns.rcode.BADSIG, tsig, owner.to_text(), secondary_id=secondary_id) from exc
    except (dns.tsig.BadAlgorithm, BadToken) as exc:
        # A client must not learn what is wrong with its key.
        raise TsigRefused(dns.rcode.BADKEY, tsig, owner.to_text(), secondary_id=secondary_id) from exc
    except dns.tsig.PeerError as exc:
        raise ValueError("a request with the error of an answer") from exc


def _signing_key(candidates: Sequence[dns.tsig.Key], tsig: TSIG, wire: bytes, now: datetime) -> dns.tsig.Key:
    """Return the first key that signed the message. Otherwise raise dnspython's error."""
    *older, last = candidates
    for key in older:
        try:
            _refuse_invalid(wire, key, tsig, now)
        except dns.tsig.BadSignature:
            continue
        return key
    _refuse_invalid(wire, last, tsig, now)
    return last


def _refuse_invalid(wire: bytes, key: dns.tsig.Key, tsig: TSIG, now: datetime) -> None:
    """Raise dnspython's error unless the message was signed with this key at about the current time."""
    _validate(wire, key, key.name, tsig, int(now.timestamp()), b"", _start_of_last_record(wire))
    if abs(tsig.time_signed - int(now.timestamp())) > FUDGE:
        raise dns.tsig.BadTime


class Signer:
    """A signer of an answer's messages. Each signature also covers the preceding one."""

    def __init__(self, signed: Signature) -> None:
        self._key, self._request = signed.key, signed.tsig
        self._context: Any = None

    def sign(self, wire: bytes, now: datetime) -> bytes:
        template = _template(self._request, now)
        tsig, self._context = _sign(
            wire, self._key, template, int(now.timestamp()), self._request.mac, self._context, multi=True
        )
        return with_tsig(wire, self._key.name, tsig)

    @property
    def room(self) -> int:
        """The maximum number of bytes that a signature adds to a message."""
        fixed = 10 + 6 + 2 + 2 + 2 + 2 + 2
        return len(self._key.name.to_wire() or b"") + fixed + 64 + len(self._key.algorithm.to_wire() or b"")


def sign_refusal(wire: bytes, refusal: TsigRefused, now: datetime) -> bytes:
    """Return the answer to an invalid signature. Only an answer that reports the time to a known key is signed."""
    request = refusal.tsig
    owner = dns.name.from_text(refusal.owner)
    if refusal.key is None:
        return with_tsig(wire, owner, _template(request, now, error=refusal.error))
    clock = int(now.timestamp()).to_bytes(6, "big")
    template = _template(request, now, error=refusal.error, other=clock)
    tsig, _ = _sign(wire, refusal.key, template, request.time_signed, request.mac)
    return with_tsig(wire, owner, tsig)


def with_tsig(wire: bytes, owner: dns.name.Name, tsig: TSIG) -> bytes:
    """Append a TSIG record to a message."""
    rdata = tsig.to_wire() or b""
    id, flags, *counts, additional = _HEADER.unpack_from(wire)
    header = _HEADER.pack(id, flags, *counts, additional + 1)
    record = _RECORD.pack(dns.rdatatype.TSIG, dns.rdataclass.ANY, 0, len(rdata))
    return header + wire[_HEADER.size :] + (owner.to_wire() or b"") + record + rdata


def _template(request: TSIG, now: datetime, *, error: int = 0, other: bytes = b"") -> TSIG:
    return _make(
        dns.rdataclass.ANY,
        dns.rdatatype.TSIG,
        request.algorithm,
        int(now.timestamp()),
        FUDGE,
        b"",
        request.original_id,
        error,
        other,
    )


def _name(owner: dns.name.Name) -> str | None:
    try:
        return names.from_wire(owner.to_wire() or b"")
    except BadName:
        return None


def _token(name: str) -> Token | None:
    return Token.objects.select_related("owner").filter(kind=TokenKind.TSIG, tsig_name=name).first()


def _start_of_last_record(wire: bytes) -> int:
    """Return the offset of the TSIG in a parsed message. It is the last record."""
    parser = dns.wire.Parser(wire)
    _, _, questions, *counts = parser.get_struct("!HHHHHH")
    for _ in range(questions):
        parser.get_name(decompress=True)
        parser.get_bytes(4)
    for _ in range(sum(counts) - 1):
        parser.get_name(decompress=True)
        *_, length = parser.get_struct("!HHIH")
        parser.get_bytes(length)
    return parser.current
