"""Tests of the restore of one zone from an archive, of `backup.archived_zone` and of the command `restore_zone`."""

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dnspanel.accounts.models import AuditEntry, Role, Team, User
from dnspanel.backup import archived_zone
from dnspanel.backup.archived_zone import read_zone
from dnspanel.backup.make import back_up_to_file
from dnspanel.fleet.models import Node
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import keys_of, signing_of
from dnspanel.zones.models import Channel, Publication, RRset, Zone
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.settings.settings_of_zone import change_settings
from dnspanel.zones.signing import sign
from dnspanel.zones.store.store_rrsets import rrsets_of_zones
from replication.dns import rdtypes
from tests.dnspanel.fleet.nodes.test_readable_values import EMPTY, runs
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.docs.runbooks import commands_of
from tests.people import NOW, make_person
from tests.people import alice as alice
from tests.people import bob as bob

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(hours=3)
AWKWARD = r'txt 300 TXT "a tab	and \\ back\"slash" "{brace,comma}" | "second"'


def manage(*arguments: str) -> str:
    """Run `restore_zone` with these arguments. Return its output."""
    out = io.StringIO()
    call_command("restore_zone", *arguments, stdout=out)
    return out.getvalue()


def others_than_soa(zone: Zone) -> set[Any]:
    return {rrset for rrset in rrsets_of_zones([zone.pk])[zone.pk].values() if rrset.type != rdtypes.SOA}


def change(zone: Zone, *lines: str, gone: tuple[str, ...] = ()) -> None:
    steps = [
        ((rrset.name, rrset.type), zone_patches.replace_with(rrset))
        for rrset in (rr(line, origin=zone.name) for line in lines)
    ]
    steps += [((f"{name}.{zone.name}", rdtypes.A), zone_patches.remove_rrset) for name in gone]
    zone_patches.publish_patches(
        patches=[zone_patches.patch_of_steps(zone, steps)], acting=Acting(None, Channel.API, NOW), confirmed=True
    )


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    """Create a signed zone that includes values which are awkward in a dump."""
    make_zone("www 300 A 192.0.2.9", name="other.test.")
    zone = make_zone("www 300 A 192.0.2.1 | 192.0.2.2", "mail 300 A 192.0.2.3", AWKWARD, name="example.test.")
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    team = Team.objects.create(name="Web", created_at=NOW)
    change_settings(zone=zone, tags=["shop", "eu"], team=team, author=make_person("root", "administrator"), now=NOW)
    return Zone.objects.get(pk=zone.pk)


@pytest.fixture
def archive(zone: Zone, tmp_path: Path) -> Path:
    path = tmp_path / "panel.tar"
    back_up_to_file(path=path, now=NOW)
    return path


def test_a_zone_is_read_as_it_is_in_the_archive(zone: Zone, archive: Path) -> None:
    with archive.open("rb") as file:
        found = read_zone(file, "example.test.")
    assert set(found.rrsets) == set(rrsets_of_zones([zone.pk])[zone.pk].values())
    assert (found.tags, found.team_id, len(found.keys)) == (["eu", "shop"], zone.team_id, len(keys_of(zone)))
    assert found.signing.keys == signing_of(zone).keys


def test_a_zone_becomes_as_the_archive_has_it_in_one_revision(zone: Zone, archive: Path, bob: User) -> None:
    then = others_than_soa(zone)
    change(zone, "www 60 A 192.0.2.66", "new 60 A 192.0.2.67", gone=("mail",))
    last = Publication.objects.latest("sequence")
    preview = manage("example.test", "--from", str(archive), "--dry-run")
    assert "- www.example.test. 60 A 192.0.2.66" in preview
    assert "+ mail.example.test. 300 A 192.0.2.3" in preview
    assert "Nothing was written." in preview
    assert Publication.objects.latest("sequence") == last
    done = manage("example.test", "--from", str(archive), "--by", "bob", "--reason", "wrong script", "--confirm")
    newest = Publication.objects.latest("sequence")
    assert f"Restored example.test. to its state at {NOW.isoformat()} (publication {newest.sequence})." in done
    assert (newest.author, newest.reason, newest.revisions.count()) == (bob, "wrong script", 1)
    assert others_than_soa(zone) == then
    assert Zone.objects.get(pk=zone.pk).serial > zone.serial
    entry = AuditEntry.objects.get(action="zone.restore-from-backup")
    assert (entry.user, entry.target, entry.details["publications"]) == (bob, "example.test.", [newest.sequence])
    assert "The zone already has these records." in manage("example.test", "--from", str(archive))
    assert Publication.objects.latest("sequence") == newest


def test_a_zone_in_the_trash_comes_back_with_its_own_keys_and_history(zone: Zone, archive: Path) -> None:
    then, keys = others_than_soa(zone), [key.id for key in keys_of(zone)]
    change(zone, "www 60 A 192.0.2.66")
    edit.delete_zone(zone=zone, acting=Acting(None, Channel.API, LATER))
    assert "The zone is in the trash now." in manage("example.test.", "--from", str(archive), "--dry-run")
    manage("example.test.", "--from", str(archive))
    back = Zone.objects.get(name="example.test.", deleted_at=None)
    assert (back.pk, others_than_soa(back), [key.id for key in keys_of(back)]) == (zone.pk, then, keys)


def test_a_zone_that_is_gone_for_good_is_created_again_with_keys_tags_and_team(zone: Zone, archive: Path) -> None:
    then = others_than_soa(zone)
    ds = [key.ds for key in keys_of(zone)]
    edit.delete_zone(zone=zone, acting=Acting(None, Channel.API, LATER))
    Zone.objects.filter(pk=zone.pk).delete()
    assert "The zone does not exist now." in manage("example.test", "--from", str(archive), "--dry-run")
    manage("example.test", "--from", str(archive), "--serial", str(zone.serial + 40))
    back = Zone.objects.get(name="example.test.", deleted_at=None)
    assert back.pk != zone.pk
    assert (others_than_soa(back), [key.ds for key in keys_of(back)]) == (then, ds)
    assert (back.tags, back.team, back.serial) == (["eu", "shop"], zone.team, zone.serial + 41)
    assert signing_of(back).is_signed


def test_values_that_a_node_of_today_cannot_read_are_refused_wherever_the_zone_is_now(
    make_zone: MakeZone, tmp_path: Path
) -> None:
    node = runs("ns1", "4.9.17")
    zone = make_zone(EMPTY, name="caa.test.")
    path = str(tmp_path / "panel.tar")
    back_up_to_file(path=Path(path), now=NOW)
    patch = zone_patches.patch_of_steps(zone, [(("www.caa.test.", rdtypes.CAA), zone_patches.remove_rrset)])
    zone_patches.publish_patches(patches=[patch], acting=Acting(None, Channel.API, NOW))
    Node.objects.filter(pk=node.pk).update(report={"versions": {"powerdns": "4.7.3"}})
    last = Publication.objects.latest("sequence")
    with pytest.raises(CommandError, match=r"PowerDNS 4\.7"):
        manage("caa.test", "--from", path)
    assert Publication.objects.latest("sequence") == last
    Zone.objects.filter(pk=zone.pk).delete()
    with pytest.raises(CommandError, match=r"PowerDNS 4\.7"):
        manage("caa.test", "--from", path)
    assert not Zone.objects.exists()


def test_who_may_not_change_the_zone_does_not_restore_it(zone: Zone, archive: Path) -> None:
    make_person("rita", Role.READER)
    change(zone, "www 60 A 192.0.2.66")
    with pytest.raises(CommandError, match="You don’t have permission"):
        manage("example.test", "--from", str(archive), "--by", "rita")
    with pytest.raises(CommandError, match="No active person is named nobody"):
        manage("example.test", "--from", str(archive), "--by", "nobody")
    assert RRset.objects.get(zone=zone, name="www.example.test.").rdata == ["192.0.2.66"]


def test_what_removes_much_has_to_be_confirmed(make_zone: MakeZone, zone: Zone, archive: Path) -> None:
    change(zone, *(f"n{number} 60 A 192.0.2.7" for number in range(40)))
    with pytest.raises(CommandError, match="Add --confirm to continue"):
        manage("example.test", "--from", str(archive))
    manage("example.test", "--from", str(archive), "--confirm")
    assert not RRset.objects.filter(zone=zone, name__startswith="n1").exists()


def test_what_cannot_be_put_back_is_said_and_nothing_changes(zone: Zone, archive: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"doesn’t contain the zone nowhere\.test\."):
        manage("nowhere.test", "--from", str(archive))
    with pytest.raises(CommandError, match="isn’t a valid domain name"):
        manage("bad..name", "--from", str(archive))
    broken = tmp_path / "broken.tar"
    broken.write_bytes(archive.read_bytes()[:-20_000])
    with pytest.raises(CommandError, match="can’t be used"):
        manage("example.test", "--from", str(broken))
    Zone.objects.filter(pk=zone.pk).update(transferred_from="192.0.2.53")
    with pytest.raises(CommandError, match="cannot be restored: the zone is now transferred"):
        manage("example.test", "--from", str(archive))


def test_another_master_key_brings_back_records_of_a_zone_that_is_there_but_no_keys(
    zone: Zone, archive: Path, settings: Any
) -> None:
    change(zone, "www 60 A 192.0.2.66")
    settings.MASTER_KEY = "x" * 43 + "="
    manage("example.test", "--from", str(archive))
    edit.delete_zone(zone=zone, acting=Acting(None, Channel.API, LATER))
    Zone.objects.filter(pk=zone.pk).delete()
    with pytest.raises(CommandError, match="a different PANEL_MASTER_KEY"):
        manage("example.test", "--from", str(archive))
    assert not Zone.objects.filter(name="example.test.").exists()


@pytest.mark.parametrize(
    ("raw", "text"), [(rb"\N", None), (rb"a\tb\\n\nc", "a\tb\\n\nc"), (b"plain", "plain"), (rb"\\x00ff", r"\x00ff")]
)
def test_fields_of_a_dump_are_read_as_postgresql_writes_them(raw: bytes, text: str | None) -> None:
    assert archived_zone._field(raw) == text


def test_the_runbook_restores_one_zone_by_its_own_words(make_zone: MakeZone, tmp_path: Path, bob: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1", name="example.com.")
    path = tmp_path / "panel.tar"
    back_up_to_file(path=path, now=NOW)
    change(zone, "www 60 A 192.0.2.66")
    for command in commands_of("restore-one-zone", NAME="bob"):
        program, name, *arguments = command
        assert (program, name) == ("manage.py", "restore_zone")
        assert RRset.objects.get(zone=zone, name="www.example.com.").rdata == ["192.0.2.66"]
        manage(*(str(path) if word == "/backups/panel.tar" else word for word in arguments))
    assert RRset.objects.get(zone=zone, name="www.example.com.").rdata == ["192.0.2.1"]
    newest = Publication.objects.latest("sequence")
    assert (newest.author, newest.reason) == (bob, "lost in the migration")
