"""A panel restored from yesterday's backup publishes nothing, shows the nodes' newer content, and asks for a decision.

Throughout, all nodes are asked for the SOA of each zone: no serial decreases, and no zone that exists before and after
is refused. `test_restored_rollovers.py` restores a panel during rollovers.
"""

import http.client
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dns.exception
import pytest
from playwright.sync_api import Browser, expect

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import PANEL, Stack
from replication.dns.rrset import Serial
from tests.browser import chromium, person
from tests.dnspanel.api.v1.conftest import SERVER, replace
from tests.stack import ask, ask_all, make_person, run_inside, until

__all__ = ["chromium"]

pytestmark = [pytest.mark.flow, pytest.mark.browser]

KEPT, CHANGED, DELETED, NEW = "kept.test.", "changed.test.", "deleted.test.", "new.test."
OF_PANEL = [name for name in PANEL if name != "proxy"]


class Panel:
    """The stack's panel, as an API client uses it."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        make_person(stack, "rita")
        self.key = run_inside(stack, "tokens.make_token", "rita")

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(urlsplit(self.stack.url).netloc, timeout=60)
        text = None if body is None else json.dumps(body)
        headers = {"X-API-Key": self.key, "Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection.request(method, path, text, headers)
        answer = connection.getresponse()
        reply = answer.read()
        connection.close()
        return answer.status, json.loads(reply) if reply else None

    def creates(self, zone: str) -> None:
        made = {"name": zone, "kind": "Native", "nameservers": ["ns1.example.net.", "ns2.example.net."]}
        assert self.call("POST", f"{SERVER}/zones?wait=all", made)[0] == 201

    def publishes(self, zone: str, address: str, *, wait: str = "?wait=all") -> tuple[int, Any]:
        body = {"rrsets": [replace(f"www.{zone}", "A", address, ttl=60)]}
        return self.call("PATCH", f"{SERVER}/zones/{zone}{wait}", body)

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = run_inside(self.stack, "restored_panel.state")
        return found

    def is_in_sync(self) -> bool:
        state = self.state()
        return not state["held"] and all(at == [state["epoch"], state["head"]] for at in state["nodes"].values())


class Watch:
    """Polls all nodes for the zones' SOAs, and records the answers in order."""

    def __init__(self, stack: Stack, zones: tuple[str, ...]) -> None:
        self.stack, self.zones = stack, zones
        self.serials: dict[tuple[str, str], list[int]] = {}
        self.refusals: list[str] = []
        self.questions = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            for node in self.stack.nodes:
                for zone in self.zones:
                    self._look(node, zone)

    def _look(self, node: Any, zone: str) -> None:
        self.questions += 1
        try:
            answer = ask(node, zone, "SOA")
        except (dns.exception.DNSException, OSError) as exc:
            self.refusals.append(f"{node.name} {zone} {exc}")
            return
        if answer.rcode != "NOERROR":
            self.refusals.append(f"{node.name} {zone} {answer.rcode}")
            return
        seen = self.serials.setdefault((node.name, zone), [])
        serial = int(answer.rdata[0].split()[2])
        if not seen or seen[-1] != serial:
            seen.append(serial)

    @contextmanager
    def looking(self) -> Iterator["Watch"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            self._thread.join()

    def descents(self) -> list[str]:
        return [
            f"{node} {zone}: {seen}"
            for (node, zone), seen in self.serials.items()
            if any(not Serial(one) < Serial(next_) for one, next_ in pairwise(seen))
        ]


@pytest.fixture
def yesterday(fresh_stack: Stack) -> tuple[Panel, Path]:
    """Create three zones and back up the panel, then make a day's changes that are missing in the backup."""
    panel = Panel(fresh_stack)
    for zone in (KEPT, CHANGED, DELETED):
        panel.creates(zone)
        assert panel.publishes(zone, "192.0.2.1")[0] == 204
    directory = fresh_stack.directory / "backups"
    unprivileged.make_directory(directory)
    archive = directory / "panel.tar"
    fresh_stack.manage("backup", str(archive))
    assert "FAILED" not in fresh_stack.manage("backup_drill", str(archive))
    return panel, archive


def work_of_a_day(panel: Panel) -> None:
    """Make the changes that the backup lacks: two edits, a deletion and a new zone."""
    for address in ("192.0.2.2", "192.0.2.3"):
        assert panel.publishes(CHANGED, address)[0] == 204
    assert panel.call("DELETE", f"{SERVER}/zones/{DELETED}?wait=all")[0] == 204
    panel.creates(NEW)
    assert panel.publishes(NEW, "192.0.2.9")[0] == 204


def restore(stack: Stack, archive: Path) -> None:
    stack.supervisor.stop(OF_PANEL)
    try:
        stack.manage("restore", "--replace", str(archive))
    finally:
        stack.supervisor.start(OF_PANEL)
    stack.wait_for_web()


def sees_the_hold(panel: Panel) -> None:
    """Check that neither API can publish, and that nodes keep answering."""
    state = panel.state()
    assert "The database was restored from the" in state["held"]
    status, reply = panel.publishes(KEPT, "192.0.2.66", wait="")
    assert (status, "Publishing is on hold" in reply["error"]) == (503, True)
    made = {"name": "another.test.", "nameservers": ["ns1.example.net."]}
    status, reply = panel.call("POST", "/api/v2/zones", made)
    assert (status, reply["code"]) == (503, "publishing-held"), reply
    assert {answer.rdata for answer in ask_all(panel.stack, f"www.{CHANGED}")} == {("192.0.2.3",)}
    assert {answer.rdata for answer in ask_all(panel.stack, f"www.{NEW}")} == {("192.0.2.9",)}
    until(lambda: panel.state()["asked"], seconds=60, what=f"the nodes were asked: {panel.state()['error']}")


def decides(browser: Browser, panel: Panel, *, card: str, typed: str, button: str) -> None:
    """Make the decision about the differences on the page, in a browser."""
    with person(browser, panel.stack) as rita:
        rita.signs_in("rita", "correct horse battery staple")
        expect(rita.page.locator("#held")).to_contain_text("Publishing is on hold")
        rita.page.get_by_role("link", name="Review hold").click()
        main = rita.page.locator("#main")
        for zone in (CHANGED, DELETED, NEW):
            expect(main).to_contain_text(zone)
        expect(main).not_to_contain_text(KEPT)
        rita.page.get_by_role("link", name=CHANGED).click()
        expect(main).to_contain_text("192.0.2.3")
        form = rita.page.locator(card)
        form.get_by_label("Type").fill(typed)
        form.get_by_role("button", name=button).click()
        expect(main).to_contain_text("Publishing works normally", timeout=60_000)
        assert rita.complaints == []


def in_sync_again(panel: Panel, before: dict[str, Any], *, seconds: float = 90) -> None:
    began = time.monotonic()
    until(panel.is_in_sync, seconds=seconds, what="every node at the head of the new history")
    after = panel.state()
    assert after["epoch"] != before["epoch"]
    assert after["head"] > before["head"]
    sys.stdout.write(f"in sync in the new epoch after {time.monotonic() - began:.1f} s\n")


def test_a_restored_panel_takes_over_what_its_nodes_have(
    chromium: Browser, fresh_stack: Stack, yesterday: tuple[Panel, Path]
) -> None:
    panel, archive = yesterday
    with Watch(fresh_stack, (KEPT, CHANGED)).looking() as watch:
        work_of_a_day(panel)
        run_inside(fresh_stack, "restored_panel.sign_zone", CHANGED)
        until(panel.is_in_sync, seconds=30, what="the signed zone on every node")
        [dnskeys] = {answer.rdata for answer in ask_all(fresh_stack, CHANGED, "DNSKEY")}
        before = panel.state()
        watched_new = Watch(fresh_stack, (NEW,))
        with watched_new.looking():
            restore(fresh_stack, archive)
            sees_the_hold(panel)
            decides(chromium, panel, card="#decide-take_over", typed="take over", button="Import from nodes")
            in_sync_again(panel, before)
            assert {answer.rdata for answer in ask_all(fresh_stack, CHANGED, "DNSKEY")} == {dnskeys}
            answers = {zone: ask_all(fresh_stack, f"www.{zone}") for zone in (KEPT, CHANGED, NEW)}
            assert panel.publishes(NEW, "192.0.2.10")[0] == 204
            assert panel.publishes(KEPT, "192.0.2.11")[0] == 204
    assert dnskeys
    assert {a.rdata for a in answers[KEPT]} == {("192.0.2.1",)}
    assert {a.rdata for a in answers[CHANGED]} == {("192.0.2.3",)}  # the nodes' content is kept
    assert {a.rdata for a in answers[NEW]} == {("192.0.2.9",)}
    assert {answer.rcode for answer in ask_all(fresh_stack, DELETED, "SOA")} == {"REFUSED"}
    assert set(panel.state()["serials"]) == {KEPT, CHANGED, NEW}
    for each in (watch, watched_new):
        assert each.descents() == []
        assert each.refusals == []
        assert each.questions > 100


@pytest.mark.full(reason="a restored panel that keeps its own content, besides one that takes over the nodes'")
def test_a_restored_panel_keeps_its_own_content(
    chromium: Browser, fresh_stack: Stack, yesterday: tuple[Panel, Path]
) -> None:
    panel, archive = yesterday
    with Watch(fresh_stack, (KEPT, CHANGED)).looking() as watch:
        work_of_a_day(panel)
        before = panel.state()
        restore(fresh_stack, archive)
        sees_the_hold(panel)
        decides(chromium, panel, card="#decide-keep", typed="keep the panel's", button="Use panel content")
        in_sync_again(panel, before)
        assert {answer.rdata for answer in ask_all(fresh_stack, f"www.{CHANGED}")} == {("192.0.2.1",)}
        assert {answer.rdata for answer in ask_all(fresh_stack, f"www.{DELETED}")} == {("192.0.2.1",)}
        assert {answer.rcode for answer in ask_all(fresh_stack, NEW, "SOA")} == {"REFUSED"}
        assert panel.publishes(CHANGED, "192.0.2.12")[0] == 204
    assert set(panel.state()["serials"]) == {KEPT, CHANGED, DELETED}
    assert watch.descents() == []
    assert watch.refusals == []
    assert panel.state()["serials"][CHANGED] > before["serials"][CHANGED]
