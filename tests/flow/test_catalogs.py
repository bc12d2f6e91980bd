"""Catalogs both ways on a whole panel: one of a BIND is followed, and a BIND that follows two of ours sees a zone move.

Another one of ours, which people fill, is read by BIND and the newer Knot and NSD.

The SOAs' refresh is hours: only NOTIFY and the workers that it wakes can bring what changes.
"""

import json
import re
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.rcode
import dns.update
import pytest

from dnspanel.demo.stack import Stack
from tests.dnspanel.transfer.running import PowerDNS, run, sqlite_powerdns
from tests.dnspanel.transfer.sources.test_axfr import named
from tests.foreign_servers import Foreign, newer_kinds, running
from tests.ports import free_port
from tests.stack import ask, ask_all, make_person, run_script, until

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

FOLLOW = """
import sys, django
django.setup()
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.catalogs import set_up
from dnspanel.primaries.set_up import Terms
name, address = sys.argv[1:]
set_up.follow_catalog(
    name=name, primaries_terms=Terms([address]), terms=set_up.CatalogTerms(),
    author=User.objects.get(username="cata"), channel="web", now=timezone.now())
"""

SET_UP = """
import json, sys, django
django.setup()
from django.conf import settings
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.secondaries import set_up
from dnspanel.secondaries.configuration import parts_for
from dnspanel.zones import edit
from dnspanel.zones.models import Zone
owner, kind, port, name = User.objects.get(username="cata"), *sys.argv[1:]
edit.create_zone(name=name, author=owner, channel="web", now=timezone.now())
Zone.objects.filter(name=name).update(tags=["gold"])
found = []
for tag in ("gold", "silver"):
    terms = set_up.Terms(f"{kind}-{tag}", [f"127.0.0.1:{port}"], kind=kind, choice="tag", tag=tag)
    made = set_up.create_secondary(terms=terms, by=owner, now=timezone.now())
    parts = parts_for(made.secondary, gateways=settings.GATEWAY_ADDRESSES, secret=made.secret)
    found.append([part.text for part in parts])
print(json.dumps(found))
"""

MOVE = """
import sys, django
django.setup()
from django.utils import timezone
from dnspanel.secondaries import members
from dnspanel.secondaries.models import Secondary
from dnspanel.zones.models import Zone
kind, name, tag = sys.argv[1:]
Zone.objects.filter(name=name).update(tags=[tag])
for pk in Secondary.objects.filter(name__startswith=f"{kind}-").values_list("pk", flat=True):
    members.follow(secondary_id=pk, now=timezone.now())
"""

OURS, STAYS, LEAVES, AGAIN = "ours.listed.test.", "stays.listed.test.", "leaves.listed.test.", "again.listed.test."

PRODUCE = """
import json, sys, django
django.setup()
from django.conf import settings
from django.utils import timezone
from dnspanel.accounts.grants import Grant, Right
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens import TokenTerms
from dnspanel.accounts.tsig_keys import create_tsig_key
from dnspanel.catalogs import produce
from dnspanel.secondaries import keyless
from dnspanel.secondaries.catalog import catalog_name
from dnspanel.secondaries.configuration import parts_for
from dnspanel.secondaries.models import Secondary
from dnspanel.zones import edit
from dnspanel.zones.models import Zone
name, members, ports = json.loads(sys.argv[1])
owner, now = User.objects.get(username="cata"), timezone.now()
made = produce.create_catalog(name=name, group_tags=["bronze"], author=owner, channel="web", now=now)
for each in members:
    edit.create_zone(name=each, author=owner, channel="web", now=now)
Zone.objects.filter(name__in=members[:1]).update(tags=["bronze"])
produce.put_in(catalog=made, chosen=produce.Chosen(members), author=owner, now=now)
keyless.notify_also(zone=made, addresses=[f"127.0.0.1:{port}" for port in ports.values()], by=owner, now=now)
found = {}
for kind in ports:
    terms = TokenTerms(kind, (Grant(frozenset({Right.READ}), everywhere=True),))
    key = create_tsig_key(owner=owner, name=f"{kind}.keys.listed.test.", terms=terms, by=owner, now=now)
    read = Secondary(pk=0, kind=kind.removeprefix("newer-"), tsig_name=key.token.tsig_name,
        tsig_algorithm=key.token.tsig_algorithm)
    parts = parts_for(read, gateways=settings.GATEWAY_ADDRESSES, secret=key.secret)
    found[kind] = [part.text.replace(catalog_name(read)[:-1], name[:-1]) for part in parts]
print(json.dumps(found))
"""

CHANGE_MEMBERS = """
import sys, django
django.setup()
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.catalogs import produce
from dnspanel.zones.models import Zone
name, leaves, again = sys.argv[1:]
how = {"catalog": Zone.objects.get(name=name), "author": User.objects.get(username="cata"), "now": timezone.now()}
produce.take_out(zones=[leaves, again], **how)
produce.put_in(chosen=produce.Chosen([again]), **how)
"""

EDIT = """
import sys, django
django.setup()
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.zones import direct
from dnspanel.zones.models import Zone
from replication.dns.rrset import make
name, address = sys.argv[1:]
rrset = make(f"www.{name}", 1, 60, [address])
patch = direct.Patch(Zone.objects.get(name=name), lambda current: {(rrset.name, 1): rrset}, {rrset.name})
direct.publish_patches(
    patches=[patch], author=User.objects.get(username="cata"), channel="api", now=timezone.now(), confirmed=True)
"""


@pytest.fixture(scope="module", autouse=True)
def cata(stack: Stack) -> None:
    make_person(stack, "cata")


def made(bind: Foreign) -> int:
    """How often a catalog had it make the zone that moves: without coo, the second one could not."""
    return bind.log.read_text().count(f"adding zone '{MOVES.removesuffix('.')}' from catalog")


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
        run_script(stack, FOLLOW, CATALOG, f"127.0.0.1:{port}")
        until(lambda: are_at_nodes(ONE), seconds=30, what=lambda: str(ask_all(stack, f"www.{ONE}")))
        update(port, ("add", ("two.zones", 0, "PTR", TWO)), ("delete", ("one.zones",)))
        until(lambda: are_at_nodes(TWO), seconds=30, what=lambda: str(ask_all(stack, f"www.{TWO}")))

        def has_left() -> bool:
            return all(one.rcode == "REFUSED" for one in ask_all(stack, f"www.{ONE}"))

        until(has_left, seconds=30, what=lambda: str(ask_all(stack, f"www.{ONE}")))
    assert ask(stack.nodes[0], CATALOG, "SOA").rcode == "REFUSED", "the catalog itself is for nobody"


def test_a_bind_that_follows_two_of_our_catalogs_goes_on_with_a_zone_that_moves(stack: Stack, tmp_path: Path) -> None:
    port = free_port()
    (gold, gold_rest), (silver, silver_rest) = json.loads(run_script(stack, SET_UP, "bind", str(port), MOVES))
    keys = re.findall(r'allow-notify \{ (key "[^"]+";) \};', gold + silver)
    zones = re.findall(r'    zone "[^"]+"\n.*?;\n', gold + silver, re.DOTALL)
    assert (len(keys), len(zones)) == (2, 2)
    options = f"allow-notify {{ {' '.join(keys)} }};\ncatalog-zones {{\n{''.join(zones)}}};\n"
    with running(tmp_path, {"bind": port}, {"bind": [options, gold_rest + silver_rest]}, kinds=["bind"]) as (bind,):

        def answers(address: str) -> bool:
            answer = bind.answer(f"www.{MOVES}", "A")
            return answer is not None and bool(answer.answer) and answer.answer[0][0].to_text() == address

        run_script(stack, EDIT, MOVES, "192.0.2.1")
        until(lambda: answers("192.0.2.1"), seconds=60, what=lambda: bind.log.read_text()[-3000:])
        run_script(stack, MOVE, "bind", MOVES, "silver")
        until(lambda: made(bind) == 2, seconds=60, what=lambda: bind.log.read_text()[-3000:])
        run_script(stack, EDIT, MOVES, "192.0.2.2")
        until(lambda: answers("192.0.2.2"), seconds=60, what=lambda: bind.log.read_text()[-3000:])


def told_by_anybody(part: str) -> str:
    """What a secondary's configuration says of NOTIFY, for one that is not signed: that to an address of a zone."""
    part = re.sub(r"(allow-notify \{) key [^}]*\}", r"\1 127.0.0.1; }", part)
    part = re.sub(r"(id: dnspanel-notify\n    )key: \S+", r"\1address: 127.0.0.1", part)
    return re.sub(r"(allow-notify: 0\.0\.0\.0/0) \S+", r"\1 NOKEY", part)


def test_bind_knot_and_nsd_read_a_catalog_of_ours_by_a_key_and_begin_anew_what_was_put_in_again(
    stack: Stack, tmp_path: Path
) -> None:
    """Configured as for a secondary, but for the catalog's name and their keys, which are people's."""
    kinds, members = ["bind", *newer_kinds()], [STAYS, LEAVES, AGAIN]
    ports = {kind: free_port() for kind in kinds}
    made = json.loads(run_script(stack, PRODUCE, json.dumps([OURS, members, ports])))
    parts = {kind: [told_by_anybody(part) for part in texts] for kind, texts in made.items()}
    if "newer-nsd" in parts:
        parts["newer-nsd"].append("")  # for an older one, which reads no catalog
    ours = stack.directory / "log/update.log"

    def transfers(kind: str) -> int:
        return ours.read_text().count(f"transferred zone={AGAIN} key={kind}.keys.listed.test.")

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
        run_script(stack, CHANGE_MEMBERS, OURS, LEAVES, AGAIN)
        until(lambda: have(STAYS, AGAIN), seconds=60, what=logs)
        until(lambda: all(transfers(kind) > before[kind] for kind in kinds), seconds=30, what=logs)


def test_a_powerdns_that_follows_our_catalog_is_given_the_key_of_its_members_by_a_timer(
    stack: Stack, tmp_path: Path
) -> None:
    """Configured by the commands that its page gives to copy; the timer runs until a member is there."""
    powerdns = sqlite_powerdns(tmp_path)
    settings = {"secondary": "yes", "xfr-cycle-interval": 1, "cache-ttl": 0, "query-cache-ttl": 0}
    with powerdns.server(**settings) as port:
        made = json.loads(run_script(stack, SET_UP, "powerdns", str(port), IN_ONE))
        _, commands, timer = (part.replace("pdnsutil ", f"pdnsutil --config-dir={tmp_path} ") for part in made[0])
        run("sh", "-ec", commands)

        def answers() -> bool:
            run("sh", "-ec", timer)
            return has_address(port, "192.0.2.1")

        run_script(stack, EDIT, IN_ONE, "192.0.2.1")
        until(answers, seconds=60, what=lambda: log_of(powerdns))


def log_of(powerdns: PowerDNS) -> str:
    return (powerdns.directory / "server.log").read_text()[-4000:]


def has_address(port: int, address: str) -> bool:
    question = dns.message.make_query(f"www.{IN_ONE}", "A", flags=0)
    answer = dns.query.udp(question, "127.0.0.1", port=port, timeout=5)
    return bool(answer.answer) and answer.answer[0][0].to_text() == address
