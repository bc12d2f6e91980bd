"""A panel restored from yesterday's backup publishes nothing, shows what only its nodes know, and goes on as decided.

All the while every node is asked for every zone's SOA, over DNS: no serial ever goes down, and no zone that exists
before and after is ever refused.
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
from tests.browser import Person, chromium, person
from tests.dnspanel.api.v1.conftest import SERVER, replace
from tests.flow.test_api_v1 import MAKE_TOKEN
from tests.flow.test_rollovers import BEGIN, PARENT, SPEED, TTL
from tests.flow.test_rollovers import Watch as Validating
from tests.stack import ask, ask_all, make_person, run_script, until
from tests.unbound import unbound

__all__ = ["chromium"]

pytestmark = [pytest.mark.flow, pytest.mark.browser]

KEPT, CHANGED, DELETED, NEW = "kept.test.", "changed.test.", "deleted.test.", "new.test."
OF_PANEL = [name for name in PANEL if name != "proxy"]

STATE = """
import json, django
django.setup()
from dnspanel.fleet.models import AheadReport, Node
from dnspanel.zones.models import Epoch, LogHead, Zone
head = LogHead.objects.get()
report = AheadReport.objects.order_by("-pk").first()
print(json.dumps({
    "epoch": str(head.epoch), "head": head.sequence, "held": head.held_reason,
    "nodes": {n.name: [str(n.epoch), n.acked] for n in Node.objects.filter(state="active")},
    "asked": bool(report and report.ended_at), "error": report.error if report else "",
    "epochs": Epoch.objects.count(),
    "serials": dict(Zone.objects.filter(deleted_at=None).values_list("name", "serial")),
}))
"""

SIGN = """
import sys
import django
django.setup()
from django.utils import timezone
from dnspanel.zones.acting import Acting
from dnspanel.zones.signing import sign
from dnspanel.zones.models import Zone
acting = Acting(author=None, channel="system", now=timezone.now())
sign.sign(zones=[Zone.objects.get(name=sys.argv[1], deleted_at=None)], acting=acting)
"""

# Rollovers whose clock runs `speed` times as fast as ours: of the zone, one begins, or all go on until their ends.
ROLL = """
import json, sys, time
import django
django.setup()
from datetime import timedelta
from django.utils import timezone
from dnspanel.fleet.dnssec import drive
from dnspanel.zones.acting import Acting
from dnspanel.zones.signing import rollovers
from dnspanel.zones.dnssec.rollover import Kind
from dnspanel.zones.models import Rollover, Zone
act, name, speed, seconds = sys.argv[1:]
began = timezone.now()
clock = lambda: began + (timezone.now() - began) * int(speed)
if act == "begin":
    acting = Acting(author=None, channel="system", now=clock())
    rollovers.begin(zone=Zone.objects.get(name=name, deleted_at=None), kind=Kind.CSK, acting=acting)
else:
    until = time.monotonic() + float(seconds)
    while Rollover.objects.filter(ended_at=None).exists() and time.monotonic() < until:
        drive.drive_rollovers(clock=clock, look_every=timedelta())
        time.sleep(0.25)
rows = Rollover.objects.order_by("pk")
print(json.dumps([[row.zone.name, row.step, row.ended_at is not None, row.is_cancelled] for row in rows]))
"""

# What either decision breaks; which field refuses to keep the panel's content; then the nodes' is taken over.
DECIDE = """
import json
import django
django.setup()
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.fleet.errors import WrongDecision
from dnspanel.fleet.integrity import unknown_history
from dnspanel.fleet.models import Choice
report, refused = unknown_history.newest_report(), ""
def decide(choice):
    unknown_history.decide(report=report, choice=choice, typed=unknown_history.TYPED[choice], reason="a test",
        by=User.objects.get(username="rita"), now=timezone.now())
try:
    decide(Choice.KEEP)
except WrongDecision as exc:
    refused = exc.field
decide(Choice.TAKE_OVER)
breaks = {zone.name: zone.breaks for zone in report.zones.all() if zone.breaks}
print(json.dumps({"breaks": breaks, "refused": refused}))
"""


class Panel:
    """The stack's panel as its API's clients see it."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        make_person(stack, "rita")
        self.key = run_script(stack, MAKE_TOKEN, "rita").strip()

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
        found: dict[str, Any] = json.loads(run_script(self.stack, STATE))
        return found

    def is_in_sync(self) -> bool:
        state = self.state()
        return not state["held"] and all(at == [state["epoch"], state["head"]] for at in state["nodes"].values())


class Watch:
    """What each node answered for each zone's SOA, in order."""

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
    """A panel with three zones and a backup of them, and then a day's work that is only on the nodes any more."""
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
    """What the backup does not know: two changes, a deletion, a new zone."""
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
    """Nothing can be published, by either API, and the nodes go on answering what they have."""
    state = panel.state()
    assert "restored from the backup" in state["held"]
    status, reply = panel.publishes(KEPT, "192.0.2.66", wait="")
    assert (status, "Publishing is held" in reply["error"]) == (503, True)
    made = {"name": "another.test.", "nameservers": ["ns1.example.net."]}
    status, reply = panel.call("POST", "/api/v2/zones", made)
    assert (status, reply["code"]) == (503, "publishing-held"), reply
    assert {answer.rdata for answer in ask_all(panel.stack, f"www.{CHANGED}")} == {("192.0.2.3",)}
    assert {answer.rdata for answer in ask_all(panel.stack, f"www.{NEW}")} == {("192.0.2.9",)}
    until(lambda: panel.state()["asked"], seconds=60, what=f"the nodes were asked: {panel.state()['error']}")


def decides(browser: Browser, panel: Panel, *, card: str, typed: str, button: str) -> None:
    """A person looks at the page and decides."""
    with person(browser, panel.stack) as rita:
        rita.signs_in("rita", "correct horse battery staple")
        expect(rita.page.locator("#held")).to_contain_text("Publishing is held")
        rita.page.get_by_role("link", name="Look and decide").click()
        main = rita.page.locator("#main")
        for zone in (CHANGED, DELETED, NEW):
            expect(main).to_contain_text(zone)
        expect(main).not_to_contain_text(KEPT)
        rita.page.get_by_role("link", name=CHANGED).click()
        expect(main).to_contain_text("192.0.2.3")
        form = rita.page.locator(card)
        form.get_by_label("Type").fill(typed)
        form.get_by_role("button", name=button).click()
        expect(main).to_contain_text("Everything is published as it should be", timeout=60_000)
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
        run_script(fresh_stack, SIGN, CHANGED)
        until(panel.is_in_sync, seconds=30, what="the signed zone on every node")
        [dnskeys] = {answer.rdata for answer in ask_all(fresh_stack, CHANGED, "DNSKEY")}
        before = panel.state()
        watched_new = Watch(fresh_stack, (NEW,))
        with watched_new.looking():
            restore(fresh_stack, archive)
            sees_the_hold(panel)
            decides(chromium, panel, card="#decide-take_over", typed="take over", button="Take over")
            in_sync_again(panel, before)
            assert {answer.rdata for answer in ask_all(fresh_stack, CHANGED, "DNSKEY")} == {dnskeys}
            answers = {zone: ask_all(fresh_stack, f"www.{zone}") for zone in (KEPT, CHANGED, NEW)}
            assert panel.publishes(NEW, "192.0.2.10")[0] == 204
            assert panel.publishes(KEPT, "192.0.2.11")[0] == 204
    assert dnskeys
    assert {a.rdata for a in answers[KEPT]} == {("192.0.2.1",)}
    assert {a.rdata for a in answers[CHANGED]} == {("192.0.2.3",)}  # nothing that nodes had is lost
    assert {a.rdata for a in answers[NEW]} == {("192.0.2.9",)}
    assert {answer.rcode for answer in ask_all(fresh_stack, DELETED, "SOA")} == {"REFUSED"}
    assert set(panel.state()["serials"]) == {KEPT, CHANGED, NEW}
    for each in (watch, watched_new):
        assert each.descents() == []
        assert each.refusals == []
        assert each.questions > 100


def keeps(browser: Browser, panel: Panel, broken: str) -> None:
    """A person reads which zone would not validate, keeps the panel's content all the same, and says so."""
    with person(browser, panel.stack) as rita:
        rita.signs_in("rita", "correct horse battery staple")
        rita.page.get_by_role("link", name="Look and decide").click()
        main, form = rita.page.locator("#main"), rita.page.locator("#decide-keep")
        expect(form).to_contain_text("1 zone would not validate afterwards")
        expect(rita.page.locator("#decide-take_over")).not_to_contain_text("would not validate")
        form.get_by_role("link", name="Which, and why").click()
        expect(main.get_by_role("link", name=broken)).to_be_visible()
        expect(main).to_contain_text("until it expires there")
        for accepts, reason, refusal in (
            (False, "we want yesterday's", "There are zones that would not validate: say that they may break."),
            (True, "", "Say why zones may break."),
        ):
            decides_to_keep(rita, accepts=accepts, reason=reason)
            expect(form).to_contain_text(refusal)
        assert panel.state()["held"]
        decides_to_keep(rita, accepts=True, reason="we want yesterday's")
        expect(main).to_contain_text("Everything is published as it should be", timeout=60_000)
        rita.complaints = [line for line in rita.complaints if "422" not in line]  # what was refused


def decides_to_keep(rita: Person, *, accepts: bool, reason: str) -> None:
    form = rita.page.locator("#decide-keep")
    form.get_by_role("textbox", name="Reason").fill(reason)
    form.get_by_label("These zones may break, for the reason above").set_checked(accepts)
    form.get_by_label("Type").fill("keep the panel's")
    form.get_by_role("button", name="Keep the panel’s").click()


def test_a_backup_restored_in_the_middle_of_rollovers_breaks_nothing_that_nobody_accepted(
    chromium: Browser, fresh_stack: Stack
) -> None:
    """Of two zones, one is in a rollover at the backup; both have other keys, and other DS at their parent, since.

    First what nodes have is taken over. Then the backup is restored again, and a person keeps what it has: the zone
    that was in its rollover never is bogus, and the other one no longer than caches have what nodes answered before.
    """
    panel, ports = Panel(fresh_stack), [node.dns_port for node in fresh_stack.nodes]
    under_way, later = f"under-way.{PARENT}", f"later.{PARENT}"
    for zone in (under_way, later):
        anchors = json.loads(run_script(fresh_stack, BEGIN, PARENT, zone, "csk", "13", str(TTL), "nsec"))
    run_script(fresh_stack, ROLL, "begin", under_way, str(SPEED), "0")
    until(panel.is_in_sync, seconds=30, what="the zones on every node")
    directory = fresh_stack.directory / "backups"
    unprivileged.make_directory(directory)
    fresh_stack.manage("backup", str(directory / "panel.tar"))
    servers = dict.fromkeys((PARENT, under_way, later), ports)
    with unbound(servers, [f"{PARENT} DNSKEY {anchor}" for anchor in anchors]) as resolver:
        watches = [Validating(resolver, zone, has_parent=True) for zone in (under_way, later)]
        with watches[0], watches[1]:
            run_script(fresh_stack, ROLL, "begin", later, str(SPEED), "0")
            ended = json.loads(run_script(fresh_stack, ROLL, "end", "", str(SPEED), "60"))
            assert [row[2:] for row in ended] == [[True, False], [True, False]], ended
            until(panel.is_in_sync, seconds=30, what="the new keys on every node")
            keys = {zone: ask(fresh_stack.nodes[0], zone, "DNSKEY").rdata for zone in (under_way, later)}
            before = panel.state()
            restore(fresh_stack, directory / "panel.tar")
            until(lambda: panel.state()["asked"], seconds=60, what="the nodes were asked")
            decided = json.loads(run_script(fresh_stack, DECIDE))
            in_sync_again(panel, before)
            for zone in (under_way, later):
                assert panel.publishes(zone, "192.0.2.77")[0] == 204
                answers = {answer.rdata for answer in ask_all(fresh_stack, zone, "DNSKEY")}
                assert answers == {keys[zone]}
            assert json.loads(run_script(fresh_stack, ROLL, "look", "", "1", "0"))[0][2:] == [True, True]
            until(
                lambda: all(resolver.ask(f"r{time.monotonic_ns()}.{zone}", "A").is_secure for zone in keys),
                seconds=TTL + 5,
                what="names that no cache knows are secure",
            )
        assert resolver.bogus == []
        before = panel.state()
        watched = Validating(resolver, under_way, has_parent=True)
        with watched, Validating(resolver, later, has_parent=True) as accepted:
            restore(fresh_stack, directory / "panel.tar")
            until(lambda: panel.state()["asked"], seconds=60, what="the nodes were asked")
            keeps(chromium, panel, later)
            in_sync_again(panel, before)
            # A name that nobody asked for is secure as soon as the keys are new. What lies in the cache beside them
            # may still have signatures of the old ones, for its TTL and then for `val-bogus-ttl`, in whole seconds.
            expired = time.monotonic() + TTL + 2
            until(
                lambda: resolver.ask(f"r{time.monotonic_ns()}.{later}", "A").is_secure and time.monotonic() > expired,
                seconds=TTL + 30,
                what="the accepted break is over",
            )
            bogus = resolver.bogus
            ended = json.loads(run_script(fresh_stack, ROLL, "end", "", str(SPEED), "60"))
            assert all(row[2:] == [True, False] for row in ended), ended
            until(panel.is_in_sync, seconds=30, what="the end of the rollover on every node")
            assert resolver.ask(f"r{time.monotonic_ns()}.{under_way}", "A").is_secure
        assert resolver.bogus == bogus, "bogus again after the break that was accepted"
        assert all(later in each for each in bogus), bogus
        sys.stdout.write(f"accepted: {sum(accepted.replies.values())} answers, {len(bogus)} bogus\n")
        assert sum(watched.replies.values()) > 200
        assert all(is_secure for _, is_secure in watched.replies), watched.replies
        assert {rcode for rcode, _ in accepted.replies} <= {"NOERROR", "NXDOMAIN", "SERVFAIL"}, accepted.replies
    # The panel that was restored has both keys of the rollover that was under way, but no key of the later one.
    assert decided["refused"] == "accepts_breaks"
    assert {zone: set(found) for zone, found in decided["breaks"].items()} == {later: {"keep"}}
    for watch in watches:
        assert sum(watch.replies.values()) > 200
        assert all(is_secure for _, is_secure in watch.replies), watch.replies


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
        decides(chromium, panel, card="#decide-keep", typed="keep the panel's", button="Keep the panel’s")
        in_sync_again(panel, before)
        assert {answer.rdata for answer in ask_all(fresh_stack, f"www.{CHANGED}")} == {("192.0.2.1",)}
        assert {answer.rdata for answer in ask_all(fresh_stack, f"www.{DELETED}")} == {("192.0.2.1",)}
        assert {answer.rcode for answer in ask_all(fresh_stack, NEW, "SOA")} == {"REFUSED"}
        assert panel.publishes(CHANGED, "192.0.2.12")[0] == 204
    assert set(panel.state()["serials"]) == {KEPT, CHANGED, DELETED}
    assert watch.descents() == []
    assert watch.refusals == []
    assert panel.state()["serials"][CHANGED] > before["serials"][CHANGED]
