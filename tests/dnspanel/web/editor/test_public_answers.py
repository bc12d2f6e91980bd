"""What nodes and public resolvers answer for records. Tests `lookups.public_answers` too."""

import re
from collections.abc import Iterator
from typing import Any

import dns.message
import dns.rcode
import dns.rrset
import pytest

from dnspanel.accounts.models import User
from dnspanel.fleet.dnssec import dns_exchange
from dnspanel.fleet.models import Node
from dnspanel.zones.models import Channel, Zone
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.dnssec.nameservers import reply_to, serving
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.ports import free_port
from tests.publishing import change_rrsets
from tests.unbound import unbound

ANSWERS = "/zones/example.test./answers/?name=www.example.test.&type=A"
SERVER = "127.0.0.1"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.2")


class Nameserver:
    """A name server with one address record, or without records, or that refuses queries."""

    def __init__(self) -> None:
        self.port, self.address, self.refuses = free_port(), "192.0.2.1", False

    def answer(self, query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        reply, name = reply_to(query), query.question[0].name
        if self.refuses:
            reply.set_rcode(dns.rcode.REFUSED)
        elif self.address and str(query.question[0]).endswith(" A"):
            reply.answer.append(dns.rrset.from_text(name, 300, "IN", "A", self.address))
        else:
            reply.authority.append(dns.rrset.from_text("example.test.", 60, "IN", "SOA", ". . 1 1 1 1 60"))
        return reply


@pytest.fixture
def nameserver(active_node: MakeNode) -> Iterator[Nameserver]:
    nameserver = Nameserver()
    Node.objects.filter(pk=active_node("ns1").pk).update(dns_address=SERVER, dns_port=nameserver.port)
    with serving({SERVER: nameserver.answer}, nameserver.port):
        yield nameserver


def rows_of(page: str) -> list[str]:
    """Return the text of each row of the tables, without markup."""
    rows = re.findall(r"<tr>(.*?)</tr>", page.partition('id="answers"')[2])
    return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in rows if "<td" in row]


@pytest.mark.usefixtures("zone")
def test_a_resolver_that_still_has_the_old_value_says_for_how_long(
    browser: Browser, bob: User, nameserver: Nameserver, settings: Any
) -> None:
    with unbound({"example.test": [nameserver.port]}, []) as resolver:
        resolver.ask("www.example.test.", "A")  # the old address is now in its cache
        nameserver.address = "192.0.2.2"
        settings.PUBLIC_RESOLVERS = [f"{SERVER}:{resolver.port}"]
        client = browser(bob)
        before = client.get(ANSWERS).content.decode()
        assert rows_of(before) == []
        node, public = rows_of(client.post(ANSWERS).content.decode())
    assert node == "ns1 node 192.0.2.2 – current"
    found = re.fullmatch(rf"{SERVER}:{resolver.port} resolver 192\.0\.2\.1 (.*) different", public)
    assert found is not None, public
    assert found[1] in {"5 min", "4 min"} or found[1].endswith(" s")


@pytest.mark.usefixtures("zone")
def test_a_resolver_s_memory_of_a_missing_name_counts_too(
    browser: Browser, bob: User, nameserver: Nameserver, settings: Any
) -> None:
    nameserver.address = ""
    settings.PUBLIC_RESOLVERS = [f"{SERVER}:{nameserver.port}"]
    node, public = rows_of(browser(bob).post(ANSWERS).content.decode())
    assert node == "ns1 node no such records – different"
    assert public == f"{SERVER}:{nameserver.port} resolver no such records 1 min different"
    nameserver.refuses = True
    assert "REFUSED – unknown" in rows_of(browser(bob).post(ANSWERS).content.decode())[1]


@pytest.mark.usefixtures("zone")
def test_without_a_list_only_nodes_are_asked(
    browser: Browser, bob: User, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.1)
    Node.objects.filter(pk=active_node("ns1").pk).update(dns_address=SERVER, dns_port=free_port())
    page = browser(bob).post(ANSWERS).content.decode()
    [node] = rows_of(page)
    assert node.startswith("ns1 node")
    assert node.endswith("unknown")
    assert "PANEL_PUBLIC_RESOLVERS" in page


def test_a_revision_s_records_are_checked_as_they_are_published_now(
    browser: Browser, bob: User, zone: Zone, nameserver: Nameserver
) -> None:
    lines = {(each.name, each.type): each for each in (rr("a 300 A 192.0.2.1"), rr("b 300 A 192.0.2.9"))}
    change_rrsets(zone=zone, changes=lines, author=bob, channel=Channel.WEB, now=NOW)
    change_rrsets(zone=zone, changes={next(iter(lines)): None}, author=bob, channel=Channel.WEB, now=NOW)
    zone.refresh_from_db()
    client = browser(bob)
    link = f"/zones/example.test./answers/?revision={zone.revision - 1}"
    assert link in client.get(f"/zones/example.test./history/{zone.revision - 1}/").content.decode()
    page = client.post(link).content.decode()
    assert page.count("<table") == 2
    assert "Published: no record" in " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert [row.rpartition(" ")[2] for row in rows_of(page)] == ["different", "different"]


def test_computed_records_have_no_answers_to_compare(browser: Browser, bob: User, zone: Zone) -> None:
    page = browser(bob).get("/zones/example.test./answers/?name=lua.example.test.&type=LUA").content.decode()
    assert "Answers for ALIAS and LUA records are computed" in page
    assert zone.name in page
