"""Catalogs in both directions with a complete panel: it consumes a catalog of BIND, and zones move between its own.

BIND, PowerDNS and newer releases of Knot and NSD consume catalogs that people fill in the panel.

SOA refresh times are hours, so only NOTIFY and the workers that it wakes can deliver changes.
"""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.rcode
import dns.update
import dns.zone
import pytest

from dnspanel.demo.stack import Stack
from tests.dnspanel.transfer.running import PowerDNS, run, sqlite_powerdns
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.foreign_servers import Foreign, newer_kinds, running
from tests.ports import free_port
from tests.stack import ask, ask_all, make_person, run_inside, until

pytestmark = pytest.mark.flow

CATALOG, ONE, TWO = "catalog.listed.test.", "one.listed.test.", "two.listed.test."
MOVES, IN_ONE = "moves.listed.test.", "in-one.listed.test."
TEXT = f"""
@ 0 SOA invalid. invalid. 1 86400 86400 864000 0
@ 0 NS invalid.
version 0 TXT "2"
one.zones 0 PTR {ONE}
"""
MEMBER = """
@ 300 SOA ns1.{0} h.{0} 10 86400 86400 864000 300
@ 300 NS ns1.{0}
ns1 300 A 192.0.2.53
www 2 A 192.0.2.1
"""

OURS, STAYS, LEAVES, AGAIN = "ours.listed.test.", "stays.listed.test.", "leaves.listed.test.", "again.listed.test."
KEYS = "keys.listed.test."

FIRST_OURS, SECOND_OURS, GOES = "first.listed.test.", "second.listed.test.", "goes.listed.test."

CACHES = ("cache-ttl", "query-cache-ttl", "negquery-cache-ttl")


@pytest.fixture(scope="module", autouse=True)
def cata(stack: Stack) -> None:
    make_person(stack, "cata")


def made(bind: Foreign, zone: str) -> int:
    """Return how often BIND has added the zone from a catalog. Without coo, the second catalog could not add it."""
    return bind.log.read_text().count(f"adding zone '{zone.removesuffix('.')}' from catalog")


def update(port: int, *acts: tuple[str, tuple[Any, ...]]) -> None:
    message = dns.update.UpdateMessage(CATALOG)
    for act, arguments in acts:
        getattr(message, act)(*arguments)
    assert dns.query.tcp(message, "127.0.0.1", port=port, timeout=10).rcode() == dns.rcode.NOERROR


def test_what_a_catalog_of_bind_names_comes_to_every_node_and_leaves_them(stack: Stack, tmp_path: Path) -> None:
    notify = f"notify explicit; also-notify {{ 127.0.0.1 port {stack.update_port}; }};"
    options = {CATALOG: f"allow-update {{ any; }}; {notify}", ONE: notify, TWO: notify}
    texts = {CATALOG: TEXT, ONE: MEMBER.format(ONE), TWO: MEMBER.format(TWO)}

    def are_at_nodes(zone: str) -> bool:
        return all(one.rdata == ("192.0.2.1",) for one in ask_all(stack, f"www.{zone}"))

    with named(tmp_path, texts, options) as port:
        run_inside(stack, "catalogs.follow", CATALOG, f"127.0.0.1:{port}")
        until(lambda: are_at_nodes(ONE), seconds=30, what=lambda: str(ask_all(stack, f"www.{ONE}")))
        update(port, ("add", ("two.zones", 0, "PTR", TWO)), ("delete", ("one.zones",)))
        until(lambda: are_at_nodes(TWO), seconds=30, what=lambda: str(ask_all(stack, f"www.{TWO}")))

        def has_left() -> bool:
            return all(one.rcode == "REFUSED" for one in ask_all(stack, f"www.{ONE}"))

        until(has_left, seconds=30, what=lambda: str(ask_all(stack, f"www.{ONE}")))
    assert ask(stack.nodes[0], CATALOG, "SOA").rcode == "REFUSED", "the catalog itself is for nobody"


@pytest.mark.parametrize("kind", ["bind", "knot"])
def test_who_follows_two_of_our_catalogs_goes_on_with_a_zone_that_moves(
    stack: Stack, tmp_path: Path, kind: str
) -> None:
    """Knot doesn't support coo, and takes the zone from the second catalog once the first drops it."""
    port, moves = free_port(), f"{kind}-{MOVES}"
    (gold, silver) = run_inside(stack, "catalogs.set_up_secondaries", kind, port, moves)
    first, second = (re.findall(r"catalog-\d+\.secondaries\.dnspanel", part[0])[0] + "." for part in (gold, silver))
    parts = {"bind": both_of_bind, "knot": both_of_knot}[kind](gold, silver)
    with running(tmp_path, {kind: port}, {kind: parts}, kinds=[kind]) as (one,):

        def answers(address: str) -> bool:
            answer = one.answer(f"www.{moves}", "A")
            return answer is not None and bool(answer.answer) and answer.answer[0][0].to_text() == address

        def log() -> str:
            return log_without_reads(one)

        run_inside(stack, "catalogs.edit_www", moves, "192.0.2.1")
        until(lambda: answers("192.0.2.1"), seconds=60, what=log)
        run_inside(stack, "catalogs.move", kind, moves, "silver")
        until(lambda: moves in lists(one, second), seconds=60, what=log)
        if kind == "bind":
            until(lambda: made(one, moves) == 2, seconds=60, what=log)
        run_inside(stack, "catalogs.let_an_hour_pass", kind)
        until(lambda: moves not in lists(one, first), seconds=60, what=log)
        run_inside(stack, "catalogs.edit_www", moves, "192.0.2.2")
        until(lambda: answers("192.0.2.2"), seconds=60, what=log)


def log_without_reads(one: Foreign) -> str:
    """Return the end of the server's log, without lines about the test's own queries."""
    lines = [line for line in one.log.read_text().splitlines() if "zone-read" not in line and "AXFR-out" not in line]
    return "\n".join(lines[-40:])


def both_of_bind(gold: list[str], silver: list[str]) -> list[str]:
    """Combine the configurations on two secondaries' pages into one for a single BIND."""
    keys = re.findall(r'allow-notify \{ (key "[^"]+";) \};', gold[0] + silver[0])
    zones = re.findall(r'    zone "[^"]+"\n.*?;\n', gold[0] + silver[0], re.DOTALL)
    assert (len(keys), len(zones)) == (2, 2)
    options = f"allow-notify {{ {' '.join(keys)} }};\ncatalog-zones {{\n{''.join(zones)}}};\n"
    return [options, gold[1] + silver[1]]


def both_of_knot(gold: list[str], silver: list[str]) -> list[str]:
    """Combine the configurations on two secondaries' pages into one for a single Knot DNS."""
    return [gold[0] + silver[0].replace(": dnspanel", ": silver")]


def told_by_anybody(part: str) -> str:
    """Change a secondary's configuration so that it accepts unsigned NOTIFY from a zone's address."""
    part = re.sub(r"(allow-notify \{) key [^}]*\}", r"\1 127.0.0.1; }", part)
    part = re.sub(r"(id: dnspanel-notify\n    )key: \S+", r"\1address: 127.0.0.1", part)
    return re.sub(r"(allow-notify: 0\.0\.0\.0/0) \S+", r"\1 NOKEY", part)


def test_bind_knot_and_nsd_read_a_catalog_of_ours_by_a_key_and_begin_anew_what_was_put_in_again(
    stack: Stack, tmp_path: Path
) -> None:
    """The configuration is a secondary's, with the catalog's name and TSIG keys of people."""
    kinds, members = ["bind", *newer_kinds()], [STAYS, LEAVES, AGAIN]
    ports = {kind: free_port() for kind in kinds}
    made = run_inside(stack, "catalogs.produce", OURS, members, ports, KEYS)
    parts = {kind: [told_by_anybody(part) for part in texts] for kind, texts in made.items()}
    if "newer-nsd" in parts:
        parts["newer-nsd"].append("")  # an older NSD does not support catalogs
    ours = stack.directory / "log/update.log"

    def transfers(kind: str) -> int:
        return ours.read_text().count(f"transferred zone={AGAIN} key={kind}.{KEYS}")

    with running(tmp_path, ports, parts, kinds=kinds) as foreign:

        def have(*zones: str) -> bool:
            return all([zone for zone in members if one.serial_of(zone)] == list(zones) for one in foreign)

        def logs() -> str:
            return "\n".join(one.log.read_text()[-2000:] for one in foreign)

        until(lambda: have(*members), seconds=60, what=logs)
        for one in foreign:
            groups = [rdata for name, _, type_, rdata in one.records_of(OURS) if name.startswith("group.")]
            assert groups == ['"bronze"'], one.kind
        before = {kind: transfers(kind) for kind in kinds}
        run_inside(stack, "catalogs.change_members", OURS, LEAVES, AGAIN)
        until(lambda: have(STAYS, AGAIN), seconds=60, what=logs)
        until(lambda: all(transfers(kind) > before[kind] for kind in kinds), seconds=30, what=logs)


def of_both(part: str, one: str, two: str) -> str:
    """Return a configuration that consumes the second catalog in addition to the first."""
    block = rf'^( *)(?:zone "{one}"|- domain: {one}\.)(?: \{{)?\n(?:\1 {{2,}}.*\n)+(?:\1\}};\n)?'
    return re.sub(block, lambda found: found[0] + found[0].replace(one, two), part, flags=re.MULTILINE)


@contextmanager
def queried(foreign: list[Foreign], name: str) -> Iterator[dict[str, list[float]]]:
    """Query each server for a name's address repeatedly. Yield the times without an answer, by kind of server."""
    without: dict[str, list[float]] = {one.kind: [] for one in foreign}
    is_over = threading.Event()

    def ask_on() -> None:
        while not is_over.wait(0.02):
            for one in foreign:
                answer = one.answer(name, "A")
                if answer is None or not answer.answer:
                    without[one.kind].append(time.monotonic())

    thread = threading.Thread(target=ask_on)
    thread.start()
    try:
        yield without
    finally:
        is_over.set()
        thread.join()


def outages(times: list[float]) -> list[float]:
    """Return the seconds of each period without an answer."""
    found: list[list[float]] = []
    for each in times:
        if not found or each - found[-1][1] > 1:
            found.append([each, each])
        found[-1][1] = each
    return [end - begin for begin, end in found]


def test_who_reads_two_catalogs_of_ours_goes_on_with_a_zone_that_goes_from_one_into_the_other(
    stack: Stack, tmp_path: Path
) -> None:
    """BIND adds the zone when the second catalog lists it. Knot lacks coo, and adds it when the first drops it."""
    kinds = ["bind", *(kind for kind in newer_kinds() if kind != "newer-nsd")]
    powerdns = sqlite_powerdns(tmp_path)
    settings = {
        "secondary": "yes",
        "xfr-cycle-interval": 1,
        "allow-axfr-ips": "127.0.0.0/8",
        **dict.fromkeys(CACHES, 0),
    }
    first, second = FIRST_OURS.removesuffix("."), SECOND_OURS.removesuffix(".")
    with powerdns.server(**settings) as port:
        ports = {kind: free_port() for kind in kinds} | {"powerdns": port}
        made = run_inside(stack, "catalogs.produce", FIRST_OURS, [GOES], ports, f"more-{KEYS}")
        run_inside(stack, "catalogs.create_another", SECOND_OURS, ports)
        run_inside(stack, "catalogs.edit_www", GOES, "192.0.2.1")
        _, commands, timer = (
            part.replace("pdnsutil ", f"pdnsutil --config-dir={tmp_path} ") for part in made["powerdns"]
        )
        also = [line.replace(first, second) for line in commands.splitlines() if first in line]
        run("sh", "-ec", commands + "\n".join(also))
        timer += timer.replace(first, second)
        parts = {kind: [of_both(told_by_anybody(part), first, second) for part in made[kind]] for kind in kinds}
        with running(tmp_path, ports, parts, kinds=kinds) as foreign:
            bind, log = foreign[0], powerdns.directory / "server.log"
            foreign.append(Foreign("powerdns", port, log, lambda zone: transferred(zone, port)))

            def name_it(catalog: str, coo: str = "") -> bool:
                return all(lists(one, catalog) == {GOES: coo} for one in foreign) and has_read(bind, catalog)

            def logs() -> str:
                return "\n".join(map(log_without_reads, foreign))

            def all_answer() -> bool:
                run("sh", "-ec", timer)
                return all((answer := one.answer(f"www.{GOES}", "A")) is not None and answer.answer for one in foreign)

            until(all_answer, seconds=60, what=logs)
            with queried(foreign, f"www.{GOES}") as without:
                run_inside(stack, "catalogs.put_in", SECOND_OURS, GOES)
                until(lambda: name_it(FIRST_OURS, SECOND_OURS), seconds=60, what=logs)
                run_inside(stack, "catalogs.let_time_pass", "UNTIL_READ")
                until(lambda: name_it(SECOND_OURS) and all_answer(), seconds=60, what=logs)
                run_inside(stack, "catalogs.let_time_pass", "SAYS_WHERE")
                until(lambda: not any(lists(one, FIRST_OURS) for one in foreign), seconds=60, what=logs)
                until(lambda: has_read(bind, FIRST_OURS) and all_answer(), seconds=60, what=logs)
                run_inside(stack, "catalogs.let_time_pass", "UNTIL_READ")
                until(lambda: all(ttl_in(one, SECOND_OURS) == 2 for one in foreign), seconds=60, what=logs)
                until(lambda: has_read(bind, SECOND_OURS) and all_answer(), seconds=60, what=logs)
            assert all(len(outages(times)) <= 1 for times in without.values()), logs()
            assert not without["powerdns"], logs()
            told = bind.log.read_text()
            assert told.count(f"adding zone '{GOES.removesuffix('.')}' from catalog '{second}'") == 1
            assert "reset state" not in told


def ttl_in(one: Foreign, catalog: str) -> int:
    """Return the TTL of the PTR record of a catalog's only member."""
    [ttl] = [ttl for _, ttl, type_, _ in one.records_of(catalog) if type_ == "PTR"]
    return ttl


def transferred(zone: str, port: int) -> str:
    transfer = dns.query.xfr("127.0.0.1", zone, port=port, relativize=False, timeout=10)
    return str(dns.zone.from_xfr(transfer, relativize=False).to_text())


def has_read(bind: Foreign, catalog: str) -> bool:
    """Return True if the server's log shows that it has processed its current version of the catalog."""
    said = f"updating catalog zone '{catalog.removesuffix('.')}' with serial {bind.serial_of(catalog)}\n"
    return said in bind.log.read_text()


def lists(one: Foreign, catalog: str) -> dict[str, str]:
    """Return the zones in a server's copy of a catalog, each with its coo target or ""."""
    pointers = {name: rdata for name, _, type_, rdata in one.records_of(catalog) if type_ == "PTR"}
    members = {name: zone for name, zone in pointers.items() if not name.startswith("coo.")}
    return {zone: pointers.get(f"coo.{name}", "") for name, zone in members.items()}


def test_a_powerdns_that_follows_our_catalog_is_given_the_key_of_its_members_by_a_timer(
    stack: Stack, tmp_path: Path
) -> None:
    """The server is configured by the commands on its page. The timer runs until the catalog has a member."""
    powerdns = sqlite_powerdns(tmp_path)
    settings = {"secondary": "yes", "xfr-cycle-interval": 1, "cache-ttl": 0, "query-cache-ttl": 0}
    with powerdns.server(**settings) as port:
        made = run_inside(stack, "catalogs.set_up_secondaries", "powerdns", port, IN_ONE)
        _, commands, timer = (part.replace("pdnsutil ", f"pdnsutil --config-dir={tmp_path} ") for part in made[0])
        run("sh", "-ec", commands)

        def answers() -> bool:
            run("sh", "-ec", timer)
            return has_address(port, "192.0.2.1")

        run_inside(stack, "catalogs.edit_www", IN_ONE, "192.0.2.1")
        until(answers, seconds=60, what=lambda: log_of(powerdns))


def log_of(powerdns: PowerDNS) -> str:
    return (powerdns.directory / "server.log").read_text()[-4000:]


def has_address(port: int, address: str) -> bool:
    question = dns.message.make_query(f"www.{IN_ONE}", "A", flags=0)
    answer = dns.query.udp(question, "127.0.0.1", port=port, timeout=5)
    return bool(answer.answer) and answer.answer[0][0].to_text() == address
