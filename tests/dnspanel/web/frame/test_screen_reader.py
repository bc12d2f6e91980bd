"""Ten tasks with a screen reader: only by keyboard, and with only what Chromium's accessibility tree says.

Each test says what a screen reader speaks: the title of a page, the element in focus, and the texts of live regions.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node, ParentCheck, ParentState
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.drafts import draft
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, Scope
from dnspanel.zones.models import Channel, Publication, PublishRequest, Zone
from dnspanel.zones.requests import publish_requests
from dnspanel.zones.requests.request_status import status_of
from dnspanel.zones.signing import sign
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import EDITOR, OpenPage
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import open_page as open_page
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop
from tests.dnspanel.web.editor.history.test_publication import prove, seal
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, PASSWORD, make_person
from tests.publishing import change_rrsets
from tests.stack import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ZONE = "example.test."
LINE = "New record: name, TTL, type and value in zone file format"
MOST_TABS = 60  # more only end a test that hangs


@dataclass(frozen=True)
class Spoken:
    """What a screen reader says about an element."""

    role: str
    name: str
    description: str = ""
    value: str = ""
    states: frozenset[str] = frozenset()

    @property
    def name_and_role(self) -> str:
        return f"{self.name}, {self.role}"


def spoken(node: dict[str, Any]) -> Spoken:
    """Return what Chromium's accessibility tree says about this node. Links and boxes have no state if it is false."""
    role, name, description, value = (
        " ".join(str(node.get(key, {}).get("value", "")).split()) for key in ("role", "name", "description", "value")
    )
    found = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
    kept = ("checked", "disabled", "expanded", "invalid", "modal", "required", "selected")
    states = frozenset(state for state in kept if found.get(state) in (True, "true"))
    return Spoken({"DisclosureTriangle": "disclosure"}.get(role, role), name, description, value, states)


class Reader:
    """A person who hears a page and types."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.tree = page.context.new_cdp_session(page)
        self.tree.send("Accessibility.enable")
        self.regions: set[int] = set()  # the live regions before the last key

    def arrives_at(self, title: str) -> None:
        """Hear the title of a new page, which has a live region from its beginning."""
        until(lambda: self.page.title() == f"{title} · dnspanel", seconds=10, what=lambda: f"not {self.page.title()}")
        self.page.wait_for_load_state()
        self.regions = set(self._regions())
        assert self.regions

    def presses(self, *keys: str) -> None:
        for key in keys:
            self.regions = set(self._regions())
            self.page.keyboard.press(key)

    def types(self, text: str) -> None:
        self.regions = set(self._regions())
        self.page.keyboard.type(text)

    def focused(self, expression: str = "document.activeElement") -> Spoken:
        """Return what is said about the element in focus, or about another element."""
        found = self.tree.send("Runtime.evaluate", {"expression": expression})["result"]
        of = {"objectId": found["objectId"], "fetchRelatives": False}
        return spoken(self.tree.send("Accessibility.getPartialAXTree", of)["nodes"][0])

    def active_option(self) -> Spoken:
        """Return what is said about the option that the arrow keys have chosen in the list of the field in focus."""
        return self.focused("document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))")

    def is_at(self, name_and_role: str, **says: object) -> Spoken:
        """Wait until the focus is there. Check what else is said about the element."""
        until(lambda: self.focused().name_and_role == name_and_role, seconds=10, what=lambda: f"at {self.focused()}")
        found = self.focused()
        assert {key: getattr(found, key) for key in says} == says
        return found

    def tabs_to(self, name_and_role: str, key: str = "Tab") -> Spoken:
        """Press Tab until the focus is there. Every element on the way has a role and a name."""
        for _ in range(MOST_TABS):
            self.page.keyboard.press(key)
            found = self.focused()
            if found.name_and_role == name_and_role:
                return found
            assert found.name, f"{found} is in the way to {name_and_role}"
        raise AssertionError(f"{MOST_TABS} Tabs don't reach {name_and_role}")

    def skips_to_content(self) -> None:
        self.tabs_to("Skip to content, link")
        self.presses("Enter")

    def hears(self, text: str) -> None:
        """Wait until a live region says this. Only an alert is heard if it is as new as its text."""

        def said() -> list[str]:
            return [words for key, (words, is_alert) in self._regions().items() if is_alert or key in self.regions]

        until(lambda: any(text in words for words in said()), seconds=10, what=lambda: f"{text!r} in {said()}")

    def reads(self, role: str, name: str = "") -> list[str]:
        """Return the texts of all elements with this role and name, in the order of the page."""
        nodes = self._nodes()
        wanted = [each for each in nodes.values() if spoken(each).role == role and name in ("", spoken(each).name)]
        return [self._text(each, nodes) for each in wanted]

    def names(self, role: str) -> list[str]:
        """Return the names of all elements with this role, in the order of the page."""
        return [each.name for each in map(spoken, self._nodes().values()) if each.role == role]

    def _nodes(self) -> dict[str, dict[str, Any]]:
        """Return the nodes of the page by their ids, in the order of reading."""
        found = {each["nodeId"]: each for each in self.tree.send("Accessibility.getFullAXTree")["nodes"]}
        order, waiting = {}, [key for key, each in found.items() if each.get("parentId") not in found]
        while waiting:
            key = waiting.pop()
            order[key] = found[key]
            waiting += [each for each in reversed(found[key].get("childIds", ())) if each in found]
        return order

    def _text(self, node: dict[str, Any], nodes: dict[str, dict[str, Any]]) -> str:
        role = node.get("role", {}).get("value")
        if role in ("StaticText", "image"):
            return str(node["name"]["value"])
        parts = [self._text(nodes[each], nodes) for each in node.get("childIds", ()) if each in nodes]
        return " ".join(" ".join(parts).split())

    def _regions(self) -> dict[int, tuple[str, bool]]:
        """Return the text of each live region that can be heard, and whether it is an alert."""
        nodes = self._nodes()
        roles = {key: spoken(each).role for key, each in nodes.items() if not each["ignored"]}
        return {
            nodes[key]["backendDOMNodeId"]: (self._text(nodes[key], nodes), role == "alert")
            for key, role in roles.items()
            if role in ("status", "alert")
        }


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2")


@pytest.fixture
def reader(open_page: OpenPage, bob: User, zone: Zone) -> Reader:
    """Return Bob in front of the zone's editor."""
    found = Reader(open_page(bob))
    found.arrives_at(ZONE)
    return found


def goes_to(reader: Reader, path: str, title: str) -> None:
    reader.page.goto(urljoin(reader.page.url, path))
    reader.arrives_at(title)


def edits(person: User, zone: Zone, line: str) -> None:
    draft.replace_rrset(author=person, zone=zone, rrset=rr(line), now=timezone.now())


def publishes(person: User, zone: Zone, line: str, at: datetime, reason: str = "") -> Publication:
    rrset = rr(line)
    key = (rrset.name, rrset.type)
    return change_rrsets(zone=zone, changes={key: rrset}, author=person, channel=Channel.WEB, now=at, reason=reason)


def test_1_sign_in(open_page: OpenPage, bob: User, zone: Zone) -> None:
    page = open_page(bob, EDITOR)
    page.context.clear_cookies()
    reader = Reader(page)
    page.goto(page.url)
    reader.arrives_at("Sign in")
    reader.is_at("User name or email address, textbox", states=frozenset({"required"}))
    reader.types("bob")
    reader.tabs_to("Password, textbox")
    reader.types("a wrong one")
    reader.tabs_to("Sign in, button")
    reader.presses("Enter")
    until(lambda: bool(reader.reads("alert")), seconds=10, what="an alert")
    assert reader.reads("alert") == ["The username and/or password you specified are not correct."]
    reader.is_at("User name or email address, textbox", value="bob")
    reader.tabs_to("Password, textbox")
    reader.types(PASSWORD)
    reader.presses("Enter")
    reader.arrives_at(ZONE)
    assert reader.reads("heading", ZONE)


def test_2_find_a_zone_by_search(reader: Reader, make_zone: MakeZone) -> None:
    make_zone(name="customer.test.")
    reader.presses("/")
    reader.is_at("Search pages, zones, records and actions, combobox")
    reader.types("custo")
    until(lambda: "customer.test." in reader.names("option"), seconds=10, what="the zone in the list")
    assert reader.focused().states == {"expanded"}
    reader.presses("ArrowDown")
    assert reader.active_option() == Spoken("option", "customer.test.", states=frozenset({"selected"}))
    reader.presses("Enter")
    reader.arrives_at("customer.test.")
    assert reader.reads("heading", "customer.test.")


def test_3_add_a_record_by_the_typed_line(reader: Reader) -> None:
    reader.presses("n")
    reader.is_at(f"{LINE}, textbox")
    reader.types("new 300 A 192.0.2")
    error = "192.0.2 isn’t a valid IPv4 address"
    until(lambda: error in reader.focused().description, seconds=10, what="the error in the description of the line")
    assert reader.reads("alert") == [], "it does not interrupt a person who types"
    reader.presses("Enter")
    reader.hears(error)
    reader.is_at(f"{LINE}, textbox", states=frozenset({"invalid"}), value="new 300 A 192.0.2")
    reader.types(".77")
    reader.presses("Enter")
    reader.hears("new A added to draft, 1 change")
    reader.is_at(f"{LINE}, textbox", value="", states=frozenset())


def test_4_correct_a_wrong_value(reader: Reader) -> None:
    reader.tabs_to("Skip to records, link")
    reader.presses("Enter")
    reader.tabs_to("www, link")
    reader.presses("e")
    reader.is_at("Values, one per line, textbox", value="192.0.2.1", states=frozenset())
    reader.presses("Control+A")
    reader.types("192.0.2.300")
    reader.presses("Enter")
    until(lambda: "invalid" in reader.focused().states, seconds=10, what="an error")
    wrong = reader.is_at("Values, one per line, textbox", value="192.0.2.300")
    assert wrong.description.startswith("192.0.2.300 isn’t a valid IPv4 address Enter one value per line.")
    reader.presses("Control+A")
    reader.types("192.0.2.30")
    reader.presses("Enter")
    reader.hears("www A saved in draft, 1 change")
    reader.is_at("www, link")


def test_5_review_and_publish(reader: Reader, bob: User, zone: Zone, active_node: MakeNode) -> None:
    nodes = [active_node(name) for name in ("ns1", "ns2")]
    edits(bob, zone, "www 300 A 192.0.2.30")
    reader.page.reload()
    reader.arrives_at(ZONE)
    reader.presses("Control+Enter")
    reader.is_at(f"Review {ZONE}, heading")
    assert reader.reads("dialog", f"Review {ZONE}")
    [change] = reader.reads("article")
    assert change.startswith("www A TTL 300 changed")
    assert "− old: 192.0.2.1 + new: 192.0.2.30" in change
    reader.tabs_to("Edit www A, link")
    reader.tabs_to("Discard www A, button")
    reason = reader.tabs_to("Reason (optional), textbox")
    assert reason.description == "Shown in the history. Enter a reason or a ticket number."
    reader.types("moved")
    reader.tabs_to("Publish revision 2 Ctrl ↵, button")
    reader.presses("Enter")
    reader.is_at(f"Revision 2 of {ZONE}, heading")
    reader.hears("in progress 0 of 2 nodes")
    published = Publication.objects.latest("sequence")
    seal(published)
    for ms, node in enumerate(nodes, 40):
        prove(node, published, ms)
    reader.hears("on all nodes 2 nodes after 0.04 s")
    reader.presses("Escape")
    reader.is_at(f"{LINE}, textbox")


def test_6_undo_a_change_from_the_history(reader: Reader, bob: User, zone: Zone) -> None:
    publishes(bob, zone, "www 300 A 192.0.2.99", timezone.now(), reason="a mistake")
    reader.skips_to_content()
    reader.tabs_to("History, link")
    reader.presses("Enter")
    reader.arrives_at(f"History of {ZONE}")
    newest = reader.reads("row")[1]
    assert newest.startswith("2 just now bob web 1 RRset changed a mistake 2")
    reader.skips_to_content()
    reader.tabs_to("Compare revision 2, checkbox")
    revert = reader.tabs_to("Revert, button")
    assert revert.description == "Create a draft that reverts revision 2"
    reader.presses("Enter")
    reader.arrives_at(f"Review {ZONE}")
    assert "− old: 192.0.2.99 + new: 192.0.2.1" in reader.reads("article")[0]
    reader.skips_to_content()
    reader.tabs_to("Publish revision 3 Ctrl ↵, button")
    reader.presses("Enter")
    reader.arrives_at(f"Revision 3 of {ZONE}")
    reader.hears("no active nodes")


def test_7_read_the_chain_of_trust_and_find_the_ds(reader: Reader, zone: Zone) -> None:
    reader.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign.sign(zones=[zone], acting=Acting(None, "web", NOW), split=True)
    found = {"servers": {"ns.test. 192.0.2.1": [f"4711 13 2 {'ab' * 32}"]}, "ttl": 60, "root": ""}
    ParentCheck.objects.create(
        zone=zone, due_at=NOW, known_at=NOW, state=ParentState.DIFFERS, parent="test.", found=found
    )
    ksk, zsk = sorted(queries.keys_of(zone), key=lambda key: not key.ds)
    goes_to(reader, f"{EDITOR}dnssec/", f"DNSSEC for {ZONE}")
    [chain] = reader.reads("list", f"Chain of trust for {ZONE}")
    assert "DS 4711 error: matches no key" in chain
    assert f"ZSK {zsk.tag}" in chain
    assert reader.reads("heading", "Next step: correct the DS at your registrar")
    reader.skips_to_content()
    reader.tabs_to("Check parent now, button")
    reader.tabs_to(f"Copy DS (SHA-256) for key {ksk.tag}, button")
    reader.presses("Enter")
    reader.hears("Copied.")
    reader.is_at(f"Copy DS (SHA-256) for key {ksk.tag}, button")
    assert reader.page.evaluate("navigator.clipboard.readText()") == f"{ZONE} IN DS {ksk.ds[0]}"


def test_8_read_which_node_is_behind(reader: Reader, bob: User, zone: Zone, active_node: MakeNode) -> None:
    nodes = [active_node(name) for name in ("ns1", "ns2")]
    now = timezone.now()
    old = publishes(bob, zone, "www 300 A 192.0.2.8", now - timedelta(minutes=9))
    new = publishes(bob, zone, "www 300 A 192.0.2.9", now - timedelta(minutes=7))
    for node, publication in zip(nodes, (new, old), strict=True):
        prove(node, publication, 40)
        Node.objects.filter(pk=node.pk).update(contact_at=now)
    goes_to(reader, "/nodes/", "Nodes")
    [fleet] = reader.reads("region", "Last hour furthest behind first")
    rows = [row for row in reader.reads("row") if row in fleet]
    assert rows[0] == "Node Last hour Now"
    assert rows[1].startswith("ns2 Highest value: 7 min, ")
    assert rows[1].endswith(" 7 min")
    assert rows[2:] == ["ns1 in sync in sync"]
    reader.skips_to_content()
    reader.tabs_to("Lag, link")
    reader.tabs_to("ns2, link")
    reader.presses("Enter")
    reader.arrives_at("ns2 · Nodes")
    assert "sequence 2 of 3, behind for 7 min" in reader.reads("main")[0]


@pytest.fixture
def pending(zone: Zone, alice: User) -> PublishRequest:
    """Create a request that needs one approval."""
    erin = make_person("erin", "editor")
    publish_rules.add_approval_rule(
        scope=Scope(zone=zone), terms=ApprovalTerms(role="editor"), reason="Four eyes", author=alice, now=NOW
    )
    edits(erin, zone, "www 300 A 192.0.2.30")
    terms = publish_requests.Terms(reason="The old one is slow")
    return publish_requests.ask(author=erin, now=timezone.now(), name="The new web", terms=terms)


def test_9_approve_a_request(reader: Reader, pending: PublishRequest) -> None:
    goes_to(reader, reverse("draft-requests"), "Requests")
    assert "Waiting for you" in reader.names("heading")
    reader.skips_to_content()
    reader.tabs_to("The new web, link")
    reader.presses("Enter")
    reader.arrives_at("Change A of www.example.test")
    assert "The old one is slow" in reader.names("StaticText")
    assert "− old: 192.0.2.1 + new: 192.0.2.30" in reader.reads("article")[0]
    reader.skips_to_content()
    reader.tabs_to("Approve and publish, button")
    reader.tabs_to("Approve only, button")
    reader.presses("Enter")
    reader.arrives_at("Change A of www.example.test")
    reader.hears("Request approved.")
    reader.skips_to_content()
    reader.tabs_to("Publish now, button")
    reader.presses("Enter")
    reader.arrives_at(f"Revision 2 of {ZONE}")
    reader.hears("no active nodes")


def test_10_read_the_audit_entry_of_the_approval(reader: Reader, pending: PublishRequest, bob: User) -> None:
    seen = status_of(pending, bob).digest
    publish_requests.approve(request=pending, by=bob, seen=seen, now=timezone.now())
    goes_to(reader, "/audit/", "Audit log")
    reader.skips_to_content()
    reader.tabs_to("Search audit log, searchbox")
    reader.types("action:request.approve")
    reader.hears("1 entry found")
    approved = "bob approved the request “The new web”."
    entry = reader.tabs_to(f"{approved}, disclosure")
    assert "expanded" not in entry.states
    reader.presses("Enter")
    reader.is_at(f"{approved}, disclosure", states=frozenset({"expanded"}))
    reader.tabs_to("View entry, link")
    reader.presses("Enter")
    reader.arrives_at(approved)
    assert reader.names("heading") == [approved, "Details"]
    facts = reader.reads("main")[0]
    for text in ("just now request.approve The new web", "Person or token bob", "Digest", "Hash chain"):
        assert text in facts
