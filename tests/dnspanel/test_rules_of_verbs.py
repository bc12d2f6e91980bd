"""Tests of every operation that changes zones, against the rules in the table of docs/architecture/rules.md.

Each test sets one rule (approval rule, freeze, lock, publish hook or quota) and tries one operation. The functions that
append publications are found in the code, so a new one without a row fails. `-s` prints the table.
"""

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.accounts.models import User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.primaries import set_up_primaries
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import NameRefused, NamesRefused, QuotaExceeded
from dnspanel.zones.models import Channel, Expiry, Lock, Publication, Zone
from dnspanel.zones.publishing import (
    bulk,
    clone,
    edit,
    ready_zones,
    restore_zones,
    revision,
    transferred,
    zone_patches,
)
from dnspanel.zones.publishing.bulk import ZoneChange
from dnspanel.zones.publishing.expiry import expiry_of, remove_due, set_expiry
from dnspanel.zones.publishing.ready_zones import BulkZone
from dnspanel.zones.signing import sign
from dnspanel.zones.signing.new_signatures import publish_new_signatures
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from replication.dns.rrset import Key
from tests.dnspanel.zones import ruled
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person
from tests.syntax import nodes_in

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[2]
ZONE, BELOW = "example.test.", "www.example.test."
WWW: Key = (BELOW, rdtypes.A)
RULES = ("approval", "freeze", "lock", "hook", "quota")
ALL, NO_QUOTA, BACK, FREE = RULES, RULES[:4], RULES[1:4], ()
LATER = NOW + timedelta(hours=1)
NEW = rr("new.example.test. 60 A 192.0.2.9")


@dataclass(frozen=True)
class Act:
    """An operation, the rules that apply to it, and its preparation. A refusal is raised or returned as text."""

    act: Callable[[Zone, User], object]
    rules: tuple[str, ...]
    before: Callable[[Zone, User], object] = lambda zone, author: None


class LeftAlone(Exception):
    """The operation skipped the zone."""


def _add(zone: Zone, author: User | None, under: SystemRight | None = None) -> None:
    patch = zone_patches.patch_of_steps(zone, [((NEW.name, NEW.type), zone_patches.replace_with(NEW))])
    zone_patches.publish_patches(patches=[patch], acting=Acting(author, Channel.API, NOW), under=under)


def _publish_draft(zone: Zone, author: User) -> None:
    draft.replace_rrset(author=author, zone=zone, rrset=NEW, now=NOW)
    revision.publish(acting=Acting(author, Channel.WEB, NOW))


def _change_many(zone: Zone, author: User) -> None:
    change = ZoneChange(zone.pk, zone.revision, {(NEW.name, NEW.type): NEW})
    _refuse_left(bulk.change_zones(changes=[change], acting=Acting(author, Channel.IMPORT, NOW))[1])


def _delete_many(zone: Zone, author: User) -> None:
    _refuse_left(bulk.delete_zones(zones=[(zone.pk, zone.revision)], acting=Acting(author, Channel.WEB, NOW))[1])


def _undo(zone: Zone, author: User) -> None:
    last = Publication.objects.latest("sequence").sequence
    _refuse_left(bulk.undo_zone_changes(sequence=last, acting=Acting(author, Channel.WEB, NOW))[1])


def _refuse_left(left: Any) -> None:
    if left:
        raise LeftAlone


def _delete(zone: Zone, author: User) -> None:
    edit.delete_zone(zone=zone, acting=Acting(author, Channel.WEB, NOW))


def _restore(zone: Zone, author: User) -> None:
    edit.restore_zone(zone=zone, author=author, channel=Channel.WEB, now=NOW)


def _restore_many(zone: Zone, author: User) -> None:
    _refuse_left(restore_zones.restore_zones(zones=[zone], acting=Acting(author, Channel.WEB, NOW)).outcome.refused)


def _create(zone: Zone, author: User) -> None:
    edit.create_zone(zone=edit.NewZone(BELOW), acting=Acting(author, Channel.API, NOW))


def _clone(zone: Zone, author: User) -> None:
    clone.clone_zone(source=zone, zone_names=[BELOW], acting=Acting(author, Channel.WEB, NOW))


def _import(zone: Zone, author: User) -> None:
    [id] = ready_zones.allocate_zone_ids(1)
    content = [rr(f"{BELOW} 60 SOA ns1.test. h.test. 1 2 3 4 5")]
    ready_zones.create_ready_zones(
        zones=[BulkZone(id, BELOW, 1, 1)],
        rows=lambda: [store_rrsets.rows_of_zone(id, BELOW, content)],
        acting=Acting(author, Channel.IMPORT, NOW),
    )


def _from_elsewhere(zone: Zone, author: User) -> None:
    terms = Terms(["9.9.9.9"])
    set_up_primaries.create_transferred_zone(name=BELOW, terms=terms, acting=Acting(author, Channel.API, NOW))


def _set_primaries(zone: Zone, author: User) -> None:
    set_up_primaries.set_primaries(zone=zone, terms=Terms(["9.9.9.9"]), acting=Acting(author, Channel.API, NOW))


def _comes_from_elsewhere(zone: Zone, author: User) -> None:
    _set_primaries(zone, author)
    TransferredZone.objects.update(serial=7)


def _take_over(zone: Zone, author: User) -> None:
    set_up_primaries.take_over(zone=zone, acting=Acting(author, Channel.API, NOW))


def _taken_over(zone: Zone, author: User) -> None:
    _comes_from_elsewhere(zone, author)
    _take_over(zone, author)


def _give_back(zone: Zone, author: User) -> None:
    set_up_primaries.give_back(zone=zone, acting=Acting(author, Channel.API, NOW))


def _set_expiry(zone: Zone, author: User) -> None:
    set_expiry(zone=zone, key=WWW, remove_at=LATER, author=author, now=NOW)


def _expire(zone: Zone, author: User) -> None:
    remove_due(now=LATER)
    if expiry_of(zone, WWW) is not None and Expiry.objects.exclude(refusal="").exists():
        raise LeftAlone


def _sign(zone: Zone, author: User) -> None:
    sign.sign_new_zone(name=zone.name, nsec3=None, acting=Acting(author, Channel.WEB, NOW))


def _new_signatures(zone: Zone, author: User) -> None:
    assert publish_new_signatures(zone_ids=[zone.pk], before=LATER, now=NOW) is not None


def _expire_zone(zone: Zone, author: User) -> None:
    zone_ids = [zone.pk]
    done = transferred.stop_serving(
        zone_ids=zone_ids, channel=Channel.TRANSFER, now=NOW, reason="", in_transaction=lambda publication: None
    )
    assert done is not None


def _land(zone: Zone, author: User) -> None:
    zone.refresh_from_db()
    change = ZoneChange(zone.pk, zone.revision, {(NEW.name, NEW.type): NEW})
    _, left = bulk.change_zones(
        changes=[change],
        acting=Acting(None, Channel.TRANSFER, NOW),
        by_transfer=True,
        under=SystemRight.TRANSFER,
    )
    assert not left


def _repair(zone: Zone, author: User) -> None:
    last = Publication.objects.latest("sequence").sequence
    bulk.undo_zone_changes(sequence=last, acting=Acting(None, Channel.SYSTEM, NOW), under=SystemRight.REPAIR)


def _leave_catalog(zone: Zone, author: User) -> None:
    _, kept = bulk.delete_zones(
        zones=[(zone.pk, zone.revision)],
        acting=Acting(None, Channel.TRANSFER, NOW),
        confirmed=True,
        under=SystemRight.CATALOG,
    )
    _refuse_left(kept)


def _name_in_catalog(zone: Zone, author: User) -> None:
    edit.create_zones(
        zones=[edit.NewZone(BELOW)],
        acting=Acting(None, Channel.TRANSFER, NOW),
        awaits_transfer=True,
        under=SystemRight.CATALOG,
    )


ACTS: dict[str, Act] = {
    "publish a draft": Act(_publish_draft, ALL),
    "change records directly (APIs, DNS UPDATE, dyndns, runs)": Act(_add, ALL),
    "change many zones (imports)": Act(_change_many, ALL),
    "undo a publication": Act(_undo, ALL, lambda zone, author: _remove_www(zone, author)),
    "remove expired records": Act(_expire, NO_QUOTA, _set_expiry),
    "change records without a person": Act(lambda zone, author: _add(zone, None), NO_QUOTA),
    "delete a zone": Act(_delete, NO_QUOTA),
    "delete many zones": Act(_delete_many, NO_QUOTA),
    "restore a zone": Act(_restore, (*BACK, "quota"), _delete),
    "restore many zones": Act(_restore_many, (*BACK, "quota"), _delete),
    "create a zone below another": Act(_create, ALL),
    "clone a zone below another": Act(_clone, ALL),
    "import a zone below another": Act(_import, ALL),
    "transfer a new zone below another": Act(_from_elsewhere, ALL),
    "add a catalog member below a zone": Act(_name_in_catalog, NO_QUOTA),
    "remove a zone that left a catalog": Act(_leave_catalog, NO_QUOTA),
    "set primaries": Act(_set_primaries, NO_QUOTA),
    "change primaries": Act(
        lambda zone, author: set_up_primaries.set_primaries(
            zone=zone, terms=Terms(["9.9.9.10"]), acting=Acting(author, Channel.API, NOW)
        ),
        NO_QUOTA,
        _comes_from_elsewhere,
    ),
    "take a zone over": Act(_take_over, NO_QUOTA, _comes_from_elsewhere),
    "give a zone back": Act(_give_back, NO_QUOTA, _taken_over),
    "sign a zone": Act(_sign, FREE),
    "renew signatures each week": Act(_new_signatures, FREE),
    "apply content from a primary": Act(_land, FREE, _comes_from_elsewhere),
    "remove an expired zone": Act(_expire_zone, FREE, _comes_from_elsewhere),
    "revert a failed publication": Act(_repair, FREE, lambda zone, author: _remove_www(zone, author)),
}

# Functions that append publications or also ask all rules, and the operations above that use each.
VERBS: dict[str, tuple[str, ...]] = {
    "zones/publishing/revision.carry_out": (
        "publish a draft",
        "change records directly (APIs, DNS UPDATE, dyndns, runs)",
    ),
    "zones/publishing/bulk._carry_out": (
        "change many zones (imports)",
        "undo a publication",
        "apply content from a primary",
    ),
    "zones/publishing/bulk.delete_zones": ("delete many zones", "remove a zone that left a catalog"),
    "zones/publishing/ready_zones.create_ready_zones": ("import a zone below another",),
    "zones/publishing/edit.delete_zones": ("delete a zone",),
    "zones/publishing/edit.restore_zone": ("restore a zone",),
    "zones/publishing/edit._create": (
        "create a zone below another",
        "clone a zone below another",
        "transfer a new zone below another",
    ),
    "zones/publishing/restore_zones._restore_piece": ("restore many zones",),
    "zones/publishing/transferred.stop_serving": ("remove an expired zone",),
    "zones/publishing/transferred.serve_within": ("take a zone over",),
    "zones/publishing/epoch._publish": ("revert a failed publication",),
    "zones/signing/new_signatures.publish_new_signatures": ("renew signatures each week",),
    "zones/signing/paused_denial._publish": ("apply content from a primary",),
    "zones/log/signing_log._publish": ("sign a zone",),
    "primaries/set_up_primaries._refuse_by_rules": (
        "set primaries",
        "change primaries",
        "take a zone over",
        "give a zone back",
    ),
    "catalogs/set_up_catalogs._refuse_by_rules": ("change primaries",),
    "catalogs/member_terms._move_ruled": ("change primaries",),
}


def _remove_www(zone: Zone, author: User) -> None:
    patch = zone_patches.patch_of_steps(zone, [(WWW, zone_patches.remove_rrset)])
    zone_patches.publish_patches(patches=[patch], acting=Acting(author, Channel.API, NOW))


@pytest.fixture
def author(db: None) -> User:
    return make_person("erin", "editor")


@pytest.fixture
def zone(author: User) -> Zone:
    content = [rr(f"{BELOW} 60 A 192.0.2.1"), rr("mail.example.test. 60 A 192.0.2.2")]
    edit.create_zone(zone=edit.NewZone(ZONE, content), acting=Acting(author, Channel.WEB, NOW))
    return Zone.objects.get(name=ZONE)


def _place(rule: str, zone: Zone, author: User) -> None:
    if rule == "lock" and zone.deleted_at is not None:  # the lock existed before the deletion
        Lock.objects.create(zone=zone, name="", reason="Terraform", placed_at=NOW)
        Zone.objects.filter(pk=zone.pk).update(has_locks=True)
        return
    if rule != "quota":
        ruled.PLACE[rule](zone, make_person("adam", "administrator"))
        return
    used = Zone.objects.filter(deleted_at=None).count()
    set_quotas(of=author, quotas={Kind.ZONES: used, Kind.RRSETS: zone.rrset_count}, by=None, now=NOW)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ACTS)
def test_an_act_is_refused_by_the_rules_that_are_asked_about_it(name: str, rule: str, zone: Zone, author: User) -> None:
    act = ACTS[name]
    act.before(zone, author)
    zone = Zone.objects.get(pk=zone.pk)
    _place(rule, zone, author)
    if rule not in act.rules:
        act.act(zone, author)
        return
    refusal: type[Exception] = QuotaExceeded if rule == "quota" else ruled.REFUSAL[rule]
    with pytest.raises((refusal, LeftAlone, NamesRefused, NameRefused)):
        act.act(zone, author)


@pytest.mark.parametrize("name", ["restore a zone", "restore many zones"])
def test_a_zone_that_is_larger_than_the_quota_by_now_stays_in_the_trash(name: str, zone: Zone, author: User) -> None:
    _delete(zone, author)
    set_quotas(of=author, quotas={Kind.RRSETS: zone.rrset_count - 1}, by=None, now=NOW)
    zone = Zone.objects.get(pk=zone.pk)
    with pytest.raises((QuotaExceeded, LeftAlone)):
        ACTS[name].act(zone, author)
    set_quotas(of=author, quotas={Kind.RRSETS: zone.rrset_count}, by=None, now=NOW)
    ACTS[name].act(zone, author)


def test_every_function_that_appends_a_publication_has_a_row() -> None:
    found = set()
    for path in sorted((ROOT / "dnspanel").rglob("*.py")):
        text = path.read_text()
        if "append_publication" not in text and "refuse_act" not in text:
            continue
        for function in nodes_in(text):
            if isinstance(function, ast.FunctionDef) and _calls(function) & {"append_publication", "refuse_act"}:
                found.add(f"{path.relative_to(ROOT / 'dnspanel').with_suffix('')}.{function.name}")
    # Inner functions of those in the table.
    inner = {"zones/publishing/bulk.delete", "zones/publishing/restore_zones.restore"}
    assert found - inner == set(VERBS)
    assert {act for acts in VERBS.values() for act in acts} <= ACTS.keys()


def test_every_system_right_is_used_and_is_in_the_document() -> None:
    code = "".join(path.read_text() for path in (ROOT / "dnspanel").rglob("*.py"))
    document = (ROOT / "docs/architecture/rules.md").read_text()
    for right in SystemRight:
        assert f"under=SystemRight.{right.name}" in code
        assert f"| `{right.name}` |" in document


def test_the_document_has_the_table() -> None:
    document = (ROOT / "docs/architecture/rules.md").read_text()
    rows = [f"| {name} | {' | '.join(_answer(act, rule) for rule in RULES)} |" for name, act in ACTS.items()]
    sys.stdout.write("\n".join(("", f"| act | {' | '.join(RULES)} |", *rows, "")))
    assert [row for row in rows if row not in document] == []


def _answer(act: Act, rule: str) -> str:
    return "yes" if rule in act.rules else "no"


def _calls(function: ast.FunctionDef) -> set[str]:
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
