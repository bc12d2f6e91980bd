"""Fixtures of the gateway tests: a key with all rights, and messages signed with it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import dns.message
import dns.name
import dns.tsig
import dns.update
import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.tokens import tokens, tsig_secrets
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.gateway.answers import answers
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie

EVERYTHING = TokenTerms("test", (Grant(EVERY_RIGHT, everywhere=True),))
ALGORITHMS = {name: dns.name.from_text(name) for name in tsig_secrets.ALGORITHMS} | {"hmac-md5": dns.tsig.HMAC_MD5}

SECRET = "c2l4dGVlbiBieXRlcyBub3c="

MakeKey = Callable[..., "Key"]


class Key:
    """A TSIG key, and a client that signs with it."""

    def __init__(self, token: Token, secret: str) -> None:
        self.token = token
        algorithm = ALGORITHMS[token.tsig_algorithm]
        self.tsig = dns.tsig.Key(str(token.tsig_name), secret, algorithm)

    def sign(self, message: dns.message.Message, *, at: datetime = NOW) -> bytes:
        """Return the wire form of the message, signed at this time."""
        message.use_tsig(self.tsig, algorithm=self.tsig.algorithm)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dns.message.time.time", at.timestamp)
            return message.to_wire()

    def ask(
        self, message: dns.message.Message, *, at: datetime = NOW, now: datetime = NOW, **how: object
    ) -> dns.message.Message:
        """Send the signed message. Check the signature of the answer, and return the answer."""
        (reply,) = replies(self.sign(message, at=at), now=now, **how)
        return self.read(reply, message, now=now)

    def read(self, wire: bytes, query: dns.message.Message, *, now: datetime = NOW) -> dns.message.Message:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dns.message.time.time", now.timestamp)
            return dns.message.from_wire(wire, keyring=self.tsig, request_mac=query.mac)


def replies(wire: bytes, *, now: datetime = NOW, address: str = "192.0.2.53", over_tcp: bool = False) -> list[bytes]:
    """Return all messages of the gateway's answer."""
    return list(answers(wire, address=address, over_tcp=over_tcp, now=now))


@pytest.fixture
def make_key(alice: User) -> MakeKey:
    """Return a function that creates a TSIG key for Alice."""

    def make_key(
        name: str = "key.test.", *, owner: User = alice, algorithm: str = "hmac-sha256", **terms: object
    ) -> Key:
        made = tokens.create_tsig_key(
            owner=owner,
            name=name,
            terms=replace(EVERYTHING, **terms),
            by=owner,
            now=NOW,
            algorithm=algorithm,
            secret=SECRET if algorithm == tsig_secrets.OLD_ALGORITHM else "",
        )
        return Key(made.token, made.secret)

    return make_key


@pytest.fixture
def key(make_key: MakeKey) -> Key:
    return make_key()
