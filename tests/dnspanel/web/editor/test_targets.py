"""Targets outside the panel, which a button looks up in the DNS.

Tests `lookups.targets` too.
"""

import re
from contextlib import ExitStack
from functools import partial
from typing import Any

import dns.message
import dns.rcode
import dns.rrset
import pytest

from dnspanel.accounts.actors.actors import Role
from dnspanel.accounts.models import Membership, Team, User
from dnspanel.fleet.dnssec import dns_exchange
from dnspanel.fleet.lookups import targets
from dnspanel.fleet.lookups.delegations import look_up_delegations
from dnspanel.fleet.lookups.turns import AT_ONCE, turn
from dnspanel.web.editor import targets as targets_page
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.discarded import discard
from dnspanel.zones.models import Zone
from tests.dnspanel.fleet.dnssec.nameservers import RESOLVER, reply_to, resolver_of, serving
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person
from tests.ports import free_port

TARGETS = "/zones/example.test./targets/"
RECORDS = (("host.away.", "A", "198.51.100.1"), ("bare.away.", "TXT", '"x"'))


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    make_zone("www 300 A 192.0.2.1", name="other.test.")
    return make_zone("kept 300 CNAME published.away.")


@pytest.fixture(autouse=True)
def drafted(zone: Zone, bob: User) -> None:
    for line in (
        "@ 300 MX 10 host.away. | 20 bare.away.",
        "a 300 CNAME gone.away.",
        "b 300 CNAME www.other.test.",
        "c 300 CNAME a",
        "d 300 CNAME bare.away.",
    ):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(line), now=NOW)


def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message | None:
    """Answer as a resolver, with NXDOMAIN for `gone.away.`."""
    reply = resolver_of({}, *RECORDS)(query, is_tcp)
    if reply is not None and str(query.question[0].name) == "gone.away.":
        reply.set_rcode(dns.rcode.NXDOMAIN)
    return reply


def lines_of(page: str) -> list[str]:
    return [part.partition("</li>")[0] for part in _list_in(page).split("<li>")[1:]]


def _list_in(page: str) -> str:
    return page.partition('<ul class="checks">')[2].partition("</form>")[0]


def test_the_draft_s_targets_outside_are_asked_about(zone: Zone, browser: Browser, bob: User, settings: Any) -> None:
    client = browser(bob)
    assert TARGETS in client.get("/zones/example.test./review/").content.decode()
    before = client.get(TARGETS).content.decode()
    assert [line.count(".away.") for line in lines_of(before)] == [1, 1, 1]
    assert "exist" not in before
    port = free_port()
    settings.DNS_RESOLVERS = [f"{RESOLVER}:{port}"]
    with serving({RESOLVER: answer}, port):
        bare, gone, host = lines_of(client.post(TARGETS).content.decode())
    assert "no address" in bare
    assert "not found" in gone
    assert "found" in host


def test_no_answer_is_said_and_the_rest_is_counted(
    browser: Browser, bob: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.1)
    monkeypatch.setattr(targets, "SECONDS", 0.3)
    settings.DNS_RESOLVERS = [f"{RESOLVER}:{free_port()}"]
    page = browser(bob).post(TARGETS).content.decode()
    assert "resolver:" in page
    assert "found" not in page
    assert "not found" not in page


def test_who_finds_all_turns_taken_is_told_so(browser: Browser, bob: User) -> None:
    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            stack.enter_context(turn())
        response = browser(bob).post(TARGETS)
    assert response.status_code == 503
    assert "busy with other lookups" in response.content.decode()


def test_a_target_in_a_zone_that_is_hidden_is_asked_about_like_any(
    zone: Zone, browser: Browser, bob: User, make_zone: MakeZone
) -> None:
    ours = Team.objects.create(name="Ours", created_at=NOW)
    mia = make_person("mia", Role.MEMBER)
    Membership.objects.create(team=ours, user=mia, role=Role.EDITOR)
    Zone.objects.filter(pk=zone.pk).update(team=ours)
    zone.refresh_from_db()
    draft.replace_rrset(author=mia, zone=zone, rrset=rr("b 300 CNAME www.other.test."), now=NOW)
    assert "www.other.test." in browser(mia).get(TARGETS).content.decode()
    assert "www.other.test." not in browser(bob).get(TARGETS).content.decode()


def test_name_servers_are_asked_as_the_draft_has_them(
    browser: Browser, bob: User, zone: Zone, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in ("@ 300 NS host.away.", "sub 300 NS ns.sub", "ns.sub 300 A 127.0.9.1"):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(line), now=NOW)
    client = browser(bob)
    before = lines_of(client.get(TARGETS).content.decode().partition('id="delegations"')[2])
    assert ["example.test." in before[0], "ns.sub.example.test." in before[1]] == [True, True]
    port = free_port()
    settings.DNS_RESOLVERS, settings.SOURCE_NETWORKS = [f"{RESOLVER}:{port}"], ["127.0.0.0/8"]
    monkeypatch.setattr(targets_page, "look_up_delegations", partial(look_up_delegations, port=port))

    def child(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        reply = reply_to(query)
        hosts = ("ns.sub.example.test.", "ns2.sub.example.test.")
        reply.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "NS", *hosts))
        return reply

    with serving({RESOLVER: answer, "127.0.9.1": child}, port):
        page = client.post(TARGETS, {"ask": "delegations"}).content.decode().partition('id="delegations"')[2]
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "ns.sub.example.test. 127.0.9.1" in text
    assert "The zone’s servers also list ns2.sub.example.test. ." in text
    assert "host.away. doesn’t have a public address" in text


def test_a_draft_that_points_nowhere_outside_asks_nothing(zone: Zone, browser: Browser, bob: User) -> None:
    discard(author=bob, now=NOW)
    page = browser(bob).post(TARGETS).content.decode()
    assert "None" in page.partition('id="delegations"')[0]
    assert "Check DNS" not in page
