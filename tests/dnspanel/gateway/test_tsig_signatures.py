"""Tests of TSIG signatures: the signer of a message, and the three TSIG errors."""

from datetime import timedelta

import dns.message
import dns.name
import dns.rcode
import dns.tsig
import dns.update
import pytest
from dns.rdtypes.ANY.TSIG import TSIG

from dnspanel.accounts.models import User
from dnspanel.accounts.tokens import tokens, tsig_secrets
from dnspanel.gateway.errors import TsigRefused
from dnspanel.gateway.tsig_signatures import Signer, sign_refusal, verify
from tests.dnspanel.gateway.conftest import Key, MakeKey
from tests.people import NOW


def update() -> dns.update.UpdateMessage:
    message = dns.update.UpdateMessage("example.test.")
    message.add("www", 60, "A", "192.0.2.1")
    return message


def parsed(wire: bytes) -> dns.message.Message:
    return dns.message.from_wire(wire, keyring=False)


def refusal(wire: bytes, *, address: str = "192.0.2.53") -> TsigRefused:
    with pytest.raises(TsigRefused) as caught:
        verify(parsed(wire), wire, address=address, now=NOW)
    return caught.value


@pytest.mark.parametrize("algorithm", tsig_secrets.ALGORITHMS)
def test_a_signature_of_each_algorithm_proves_who_asks(make_key: MakeKey, alice: User, algorithm: str) -> None:
    key = make_key(algorithm=algorithm)
    wire = key.sign(update())
    signed = verify(parsed(wire), wire, address="192.0.2.53", now=NOW)
    assert signed is not None
    assert (signed.actor.user, signed.token) == (alice, key.token)
    key.token.refresh_from_db()
    assert (key.token.last_used_at, key.token.last_address) == (NOW, "192.0.2.53")


def test_a_message_without_signature_proves_nothing_and_breaks_nothing() -> None:
    wire = update().to_wire()
    assert verify(parsed(wire), wire, address="192.0.2.53", now=NOW) is None


def test_the_name_of_a_key_has_no_upper_and_lower_case(key: Key) -> None:
    key.tsig.name = dns.name.from_text("KEY.Test.")
    wire = key.sign(update())
    assert verify(parsed(wire), wire, address="192.0.2.53", now=NOW) is not None


@pytest.mark.parametrize("part", [b"example", b"www", b"\xc0\x00\x02\x01", b"the signature itself"])
def test_one_changed_bit_is_badsig(key: Key, part: bytes) -> None:
    wire = bytearray(key.sign(update()))
    # The signature is followed by the original id, the error and the length of the other data, which is 0.
    at = wire.index(part) + len(part) - 1 if part in wire else len(wire) - 7
    wire[at] ^= 0x01
    assert refusal(bytes(wire)).error == dns.rcode.BADSIG


def test_an_unknown_key_a_wrong_algorithm_and_a_key_of_no_legal_name_are_badkey(key: Key) -> None:
    other = dns.tsig.Key("key.test.", key.tsig.secret, dns.tsig.HMAC_SHA512)
    for wrong in (dns.tsig.Key("other.test.", b"x"), other, dns.tsig.Key(r"a\000b.test.", b"x")):
        key.tsig = wrong
        assert refusal(key.sign(update())).error == dns.rcode.BADKEY


def test_a_dead_key_and_one_used_from_elsewhere_are_badkey(make_key: MakeKey, alice: User) -> None:
    revoked, expired = make_key("revoked.test."), make_key("expired.test.", expires_at=NOW + timedelta(seconds=1))
    elsewhere = make_key("elsewhere.test.", networks=("2001:db8::/32",))
    tokens.revoke_token(token=revoked.token, by=alice, now=NOW)
    expired.token.expires_at = NOW
    expired.token.save()
    for key in (revoked, expired, elsewhere):
        assert refusal(key.sign(update())).error == dns.rcode.BADKEY
    wire = elsewhere.sign(update())
    assert verify(parsed(wire), wire, address="2001:db8::53", now=NOW) is not None


@pytest.mark.parametrize(("seconds", "is_good"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_a_clock_may_be_off_by_the_fudge_and_no_more(key: Key, seconds: int, is_good: bool) -> None:
    wire = key.sign(update(), at=NOW + timedelta(seconds=seconds))
    if is_good:
        assert verify(parsed(wire), wire, address="192.0.2.53", now=NOW) is not None
    else:
        assert refusal(wire).error == dns.rcode.BADTIME


@pytest.mark.parametrize("seconds", [-301, 301])
def test_the_client_does_not_say_how_far_a_clock_may_be_off(key: Key, seconds: int) -> None:
    """Regression test: a fudge of 65,535 kept a message valid for eighteen hours, so it could be replayed."""
    message = update()
    message.use_tsig(key.tsig, fudge=0xFFFF, algorithm=key.tsig.algorithm)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dns.message.time.time", (NOW + timedelta(seconds=seconds)).timestamp)
        wire = message.to_wire()
    assert refusal(wire).error == dns.rcode.BADTIME


def test_badtime_is_signed_and_tells_our_time(key: Key) -> None:
    query = update()
    wire = key.sign(query, at=NOW - timedelta(hours=1))
    found = refusal(wire)
    answer = sign_refusal(dns.message.make_response(parsed(wire)).to_wire(), found, NOW)
    tsig = parsed(answer).tsig
    assert tsig is not None
    assert isinstance(tsig[0], TSIG)
    assert (tsig[0].error, int.from_bytes(tsig[0].other, "big")) == (
        dns.rcode.BADTIME,
        int(NOW.timestamp()),
    )
    assert tsig[0].mac
    with pytest.raises(dns.tsig.PeerBadTime):
        key.read(answer, query, now=NOW)


def test_badkey_is_not_signed(key: Key) -> None:
    key.tsig = dns.tsig.Key("other.test.", b"x")
    wire = key.sign(update())
    answer = sign_refusal(dns.message.make_response(parsed(wire)).to_wire(), refusal(wire), NOW)
    tsig = parsed(answer).tsig
    assert tsig is not None
    assert isinstance(tsig[0], TSIG)
    assert (tsig[0].error, tsig[0].mac) == (dns.rcode.BADKEY, b"")


def test_a_signer_needs_no_more_room_than_it_says(make_key: MakeKey) -> None:
    for algorithm in tsig_secrets.ALGORITHMS:
        key = make_key(f"{algorithm}.test.", algorithm=algorithm)
        wire = key.sign(update())
        signed = verify(parsed(wire), wire, address="192.0.2.53", now=NOW)
        assert signed is not None
        signer = Signer(signed)
        assert len(signer.sign(wire[:12], NOW)) <= 12 + signer.room
