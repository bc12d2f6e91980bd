"""A real pdns_server gives the same answers from dnspanel's file as from its own."""

import dns.rcode
import pytest

from tests.oracle.answers import Answer, Asker, Question, ask_both, questions
from tests.oracle.conftest import Pair
from tests.oracle.corpus import rrsets_of

pytestmark = pytest.mark.sample(1, reason="releases of PowerDNS whose answers to the corpus are compared")


@pytest.fixture(scope="module")
def answers(pair: Pair) -> dict[Question, tuple[Answer, Answer]]:
    """Return both servers' answers to all questions, as (theirs, ours)."""
    with (
        pair.theirs.server() as their_port,
        pair.ours.server() as our_port,
        Asker(their_port) as theirs,
        Asker(our_port) as ours,
    ):
        return {
            question: ask_both(theirs, ours, question)
            for zone, text in pair.texts.items()
            for question in questions(zone, rrsets_of(zone, text))
        }


def test_every_answer_is_the_same(answers: dict[Question, tuple[Answer, Answer]]) -> None:
    different = {question: pair for question, pair in answers.items() if pair[0] != pair[1]}
    assert different == {}
    assert len(answers) > 5000


def test_the_questions_reach_every_kind_of_answer(answers: dict[Question, tuple[Answer, Answer]]) -> None:
    """Otherwise two servers that refuse all queries would pass, too."""
    ours = [ours for _, ours in answers.values()]
    kinds = {
        "answer": any(a.rcode == dns.rcode.NOERROR and a.authoritative and a.answer for a in ours),
        "NODATA": any(a.rcode == dns.rcode.NOERROR and a.authoritative and not a.answer for a in ours),
        "NXDOMAIN": any(a.rcode == dns.rcode.NXDOMAIN for a in ours),
        "referral": any(not a.authoritative and not a.answer and a.authority for a in ours),
        "referral with glue": any(not a.authoritative and a.authority and a.additional for a in ours),
        "large": any(len(a.answer) > 4000 for a in ours),
    }
    assert [kind for kind, seen in kinds.items() if not seen] == []


def test_no_name_of_the_corpus_fails(answers: dict[Question, tuple[Answer, Answer]]) -> None:
    bad = (dns.rcode.SERVFAIL, dns.rcode.REFUSED)
    assert [question for question, (_, ours) in answers.items() if ours.rcode in bad] == []
