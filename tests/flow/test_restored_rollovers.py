"""A panel restored during rollovers breaks no zone, except those that a person accepted to break."""

import sys
import time

import pytest
from playwright.sync_api import Browser, expect

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from tests.browser import Person, chromium, person
from tests.flow.test_restored_panel import Panel, in_sync_again, restore
from tests.flow.test_rollovers import PARENT, SPEED, TTL, Watch
from tests.stack import ask, ask_all, run_inside, until
from tests.unbound import unbound

__all__ = ["chromium"]

pytestmark = [pytest.mark.flow, pytest.mark.browser]


def keeps(browser: Browser, panel: Panel, broken: str) -> None:
    """Read on the page that this zone would not validate, and decide to keep the panel's content regardless."""
    with person(browser, panel.stack) as rita:
        rita.signs_in("rita", "correct horse battery staple")
        rita.page.get_by_role("link", name="Review hold").click()
        main, form = rita.page.locator("#main"), rita.page.locator("#decide-keep")
        expect(form).to_contain_text("1 zone would fail validation")
        expect(rita.page.locator("#decide-take_over")).not_to_contain_text("would not validate")
        form.get_by_role("link", name="Show affected zones").click()
        expect(main.get_by_role("link", name=broken)).to_be_visible()
        expect(main).to_contain_text("caches still have a DS for")
        for accepts, reason, refusal in (
            (False, "we want yesterday's", "Some zones would no longer validate. Confirm that you accept this."),
            (True, "", "Enter a reason for breaking these zones."),
        ):
            decides_to_keep(rita, accepts=accepts, reason=reason)
            expect(form).to_contain_text(refusal)
        assert panel.state()["held"]
        decides_to_keep(rita, accepts=True, reason="we want yesterday's")
        expect(main).to_contain_text("Publishing works normally", timeout=60_000)
        rita.complaints = [line for line in rita.complaints if "422" not in line]  # the refused form


def decides_to_keep(rita: Person, *, accepts: bool, reason: str) -> None:
    form = rita.page.locator("#decide-keep")
    form.get_by_role("textbox", name="Reason").fill(reason)
    form.get_by_label("Accept that these zones might break, for the reason above").set_checked(accepts)
    form.get_by_label("Type").fill("keep the panel's")
    form.get_by_role("button", name="Use panel content").click()


def test_a_backup_restored_in_the_middle_of_rollovers_breaks_only_what_a_person_accepted(
    chromium: Browser, fresh_stack: Stack
) -> None:
    """After a backup during one zone's rollover, both zones get new keys and new DS records.

    First the nodes' content is taken over. Then the backup is restored again, and a person keeps the panel's content.
    The zone in the rollover is never bogus, and the other one only while caches contain earlier answers.
    """
    panel, ports = Panel(fresh_stack), [node.dns_port for node in fresh_stack.nodes]
    under_way, later = f"under-way.{PARENT}", f"later.{PARENT}"
    for zone in (under_way, later):
        anchors = run_inside(fresh_stack, "rollovers.begin", PARENT, zone, "csk", 13, TTL, "nsec")
    run_inside(fresh_stack, "restored_rollovers.roll", "begin", under_way, SPEED, 0)
    until(panel.is_in_sync, seconds=30, what="the zones on every node")
    directory = fresh_stack.directory / "backups"
    unprivileged.make_directory(directory)
    fresh_stack.manage("backup", str(directory / "panel.tar"))
    servers = dict.fromkeys((PARENT, under_way, later), ports)
    with unbound(servers, [f"{PARENT} DNSKEY {anchor}" for anchor in anchors]) as resolver:
        watches = [Watch(resolver, zone, has_parent=True) for zone in (under_way, later)]
        with watches[0], watches[1]:
            run_inside(fresh_stack, "restored_rollovers.roll", "begin", later, SPEED, 0)
            ended = run_inside(fresh_stack, "restored_rollovers.roll", "end", "", SPEED, 60)
            assert [row[2:] for row in ended] == [[True, False], [True, False]], ended
            until(panel.is_in_sync, seconds=30, what="the new keys on every node")
            keys = {zone: ask(fresh_stack.nodes[0], zone, "DNSKEY").rdata for zone in (under_way, later)}
            before = panel.state()
            restore(fresh_stack, directory / "panel.tar")
            until(lambda: panel.state()["asked"], seconds=60, what="the nodes were asked")
            decided = run_inside(fresh_stack, "restored_rollovers.decide")
            in_sync_again(panel, before)
            for zone in (under_way, later):
                assert panel.publishes(zone, "192.0.2.77")[0] == 204
                answers = {answer.rdata for answer in ask_all(fresh_stack, zone, "DNSKEY")}
                assert answers == {keys[zone]}
            assert run_inside(fresh_stack, "restored_rollovers.roll", "look", "", 1, 0)[0][2:] == [True, True]
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
            # Names that no cache has are secure once the keys are new. Cached records may still have old signatures,
            # for their TTL and then for `val-bogus-ttl`, in whole seconds.
            expired = time.monotonic() + TTL + 2
            until(
                lambda: resolver.ask(f"r{time.monotonic_ns()}.{later}", "A").is_secure and time.monotonic() > expired,
                seconds=TTL + 30,
                what="the accepted break is over",
            )
            bogus = resolver.bogus
            ended = run_inside(fresh_stack, "restored_rollovers.roll", "end", "", SPEED, 60)
            assert all(row[2:] == [True, False] for row in ended), ended
            until(panel.is_in_sync, seconds=30, what="the end of the rollover on every node")
            assert resolver.ask(f"r{time.monotonic_ns()}.{under_way}", "A").is_secure
        assert resolver.bogus == bogus, "bogus again after the break that was accepted"
        assert all(later in each for each in bogus), bogus
        sys.stdout.write(f"accepted: {sum(accepted.replies.values())} answers, {len(bogus)} bogus\n")
        assert sum(watched.replies.values()) > 200
        assert all(is_secure for _, is_secure in watched.replies), watched.replies
        assert {rcode for rcode, _ in accepted.replies} <= {"NOERROR", "NXDOMAIN", "SERVFAIL"}, accepted.replies
    # The restored panel has both keys of the rollover in progress, but no key of the later one.
    assert decided["refused"] == "accepts_breaks"
    assert {zone: set(found) for zone, found in decided["breaks"].items()} == {later: {"keep"}}
    for watch in watches:
        assert sum(watch.replies.values()) > 200
        assert all(is_secure for _, is_secure in watch.replies), watch.replies
