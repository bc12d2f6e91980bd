"""Tests of queries over TLS: real connections, answers in any order, and faults."""

import socket
import ssl
from pathlib import Path
from typing import Any

import dns.message
import dns.tsig
import pytest

from dnspanel.pasted_certificates import fingerprint
from dnspanel.secondaries.exchange_tls import exchange_over_tls
from dnspanel.secondaries.udp_exchange import soa_question
from tests.dnspanel.secondaries.server import Answering, signed_answer, tls_server
from tests.own_certificates import OwnCertificate, own_certificate

HERE = "127.0.0.1"
KEY = dns.tsig.Key("partner.secondaries.dnspanel.", b"s" * 32, "hmac-sha256")


@pytest.fixture(autouse=True)
def at_home(settings: Any) -> None:
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture(scope="module")
def own() -> OwnCertificate:
    return own_certificate()


def ask(
    directory: Path, own: OwnCertificate, answering: Answering, *, count: int = 3, **how: Any
) -> list[tuple[str, bool]]:
    """Send `count` queries. Return the error of each, and True if it has an answer."""
    newest, ended = how.pop("newest", ssl.TLSVersion.TLSv1_3), how.pop("ended", 0)
    with tls_server(directory, own, answering, key=KEY, count=count, newest=newest, ended=ended) as address:
        questions = [soa_question(f"z{number}.test.") for number in range(count)]
        for each in questions:
            each.id = 7  # ids may be equal by chance
        found = exchange_over_tls(questions, address=address, key=KEY, seconds=how.pop("seconds", 5), **how)
    for question, answer in zip(questions, found, strict=True):
        if answer.message is not None:
            assert answer.message.question == question.question
    return [(answer.error, answer.message is not None) for answer in found]


def test_answers_in_any_order_find_their_questions(own: OwnCertificate, tmp_path: Path) -> None:
    def backwards(questions: list[dns.message.Message]) -> list[bytes]:
        return [signed_answer(each).to_wire() for each in reversed(questions)]

    certificates = frozenset({fingerprint(own.der)})
    assert ask(tmp_path, own, backwards, certificates=certificates) == [("", True)] * 3


def test_an_unsigned_answer_and_none_prove_nothing(own: OwnCertificate, tmp_path: Path) -> None:
    def some(questions: list[dns.message.Message]) -> list[bytes]:
        unsigned = dns.message.make_response(dns.message.make_query(questions[0].question[0].name, "SOA"))
        unsigned.id = questions[0].id
        return [unsigned.to_wire(), signed_answer(questions[1]).to_wire(), b"\0" * 12]

    (unsigned, right, silent) = ask(tmp_path, own, some, seconds=0.3)
    assert unsigned == ("The server answered NOERROR without a signature.", False)
    assert right == ("", True)
    assert silent == ("The server didn’t respond.", False)


@pytest.mark.parametrize(
    ("ended", "told"), [(1, ("", True)), (2, ("The server closed the connection without responding.", False))]
)
def test_one_that_ends_the_connection_is_asked_once_more(
    own: OwnCertificate, tmp_path: Path, ended: int, told: tuple[str, bool]
) -> None:
    def every(questions: list[dns.message.Message]) -> list[bytes]:
        return [signed_answer(each).to_wire() for each in questions]

    assert ask(tmp_path, own, every, ended=ended) == [told] * 3


def test_what_is_asked_after_a_window_that_lacks_an_answer_has_none(own: OwnCertificate, tmp_path: Path) -> None:
    def but_the_first(questions: list[dns.message.Message]) -> list[bytes]:
        return [signed_answer(each).to_wire() for each in questions[1:]]

    with tls_server(tmp_path, own, but_the_first, key=KEY, count=64) as address:
        questions = [soa_question(f"z{number}.test.") for number in range(66)]
        found = exchange_over_tls(questions, address=address, key=KEY, seconds=0.5)
    assert [number for number, answer in enumerate(found) if answer.message is None] == [0, 64, 65]


def test_another_certificate_and_old_tls_are_told(own: OwnCertificate, tmp_path: Path) -> None:
    stranger = frozenset({fingerprint(own_certificate().der)})
    assert (
        ask(tmp_path, own, lambda _: [], certificates=stranger)
        == [("The server’s TLS certificate doesn’t match the configured certificate.", False)] * 3
    )
    (told, *_) = ask(tmp_path, own, lambda _: [], newest=ssl.TLSVersion.TLSv1_2)
    assert told[0].startswith("TLS 1.3 handshake failed: ")


def test_nobody_there_and_an_address_that_is_not_allowed(settings: Any) -> None:
    with socket.socket() as closed:
        closed.bind((HERE, 0))
        address = closed.getsockname()
        (refused,) = exchange_over_tls([soa_question("z.test.")], address=address, key=KEY, seconds=1)
    assert refused.error == "TLS connection failed: Connection refused."
    settings.SECONDARY_NETWORKS = []
    (guarded,) = exchange_over_tls([soa_question("z.test.")], address=address, key=KEY, seconds=1)
    assert "PANEL_SECONDARY_NETWORKS" in guarded.error
