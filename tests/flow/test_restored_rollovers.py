"""A panel that is restored in the middle of rollovers breaks no zone, except those that a person accepted to break."""

import json
import sys
import time

import pytest
from playwright.sync_api import Browser, expect

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from tests.browser import Person, chromium, person
from tests.flow.test_restored_panel import Panel, in_sync_again, restore
from tests.flow.test_rollovers import BEGIN, PARENT, SPEED, TTL, Watch
from tests.stack import ask, ask_all, run_script, until
from tests.unbound import unbound

__all__ = ["chromium"]

pytestmark = [pytest.mark.flow, pytest.mark.browser]

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


def keeps(browser: Browser, panel: Panel, broken: str) -> None:
    """Read as a person which zone would not validate, keep the panel's content all the same, and say so."""
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


def test_a_backup_restored_in_the_middle_of_rollovers_breaks_only_what_a_person_accepted(
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
        watches = [Watch(resolver, zone, has_parent=True) for zone in (under_way, later)]
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
        watched = Watch(resolver, under_way, has_parent=True)
        with watched, Watch(resolver, later, has_parent=True) as accepted:
            restore(fresh_stack, directory / "panel.tar")
            until(lambda: panel.state()["asked"], seconds=60, what="the nodes were asked")
            keeps(chromium, panel, later)
            in_sync_again(panel, before)
            # A name that no cache knows is secure as soon as the keys are new. What lies in the cache beside them
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
