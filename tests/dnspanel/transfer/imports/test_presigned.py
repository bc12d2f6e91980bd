"""Imports of signed zone files: presigned zones, and the replacement of their content by newly signed files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from dnspanel.transfer.documents import Options
from dnspanel.transfer.imports import apply_piece, queries
from dnspanel.transfer.models import Action, ImportJob, ImportZone, KeptItem, KeptKind
from dnspanel.zones.dnssec import queries as signing
from dnspanel.zones.models import SigningChange, Zone
from dnspanel.zones.signing import presigned
from replication.codec.dnssec import Nsec3
from tests.dnspanel.transfer.conftest import MakeImport, import_all, lines_of, work_through, zone_text
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.signzone import signed_text

pytestmark = pytest.mark.django_db(transaction=True)

ZONE = "example.test."
KEEP = Options(signatures="keep", existing="replace")
NSEC3 = ("-3", "abcd", "-H", "1")


def reasons(job: ImportJob, code: str = "signatures") -> list[tuple[str, str]]:
    pages = [queries.faults_page(job, severity=severity) for severity in ("error", "warning", "note")]
    return [(str(fault.severity), fault.reason) for page in pages for fault in page if fault.code == code]


def current() -> Zone:
    return Zone.objects.get(name=ZONE, deleted_at=None)


def test_a_signed_zone_is_served_with_its_signatures(make_import: MakeImport, tmp_path: Path) -> None:
    text = signed_text(ZONE, zone_text(ZONE, "www A 192.0.2.1", "w CNAME www"), tmp_path, *NSEC3)
    job = import_all(make_import({"zone": text}, options=KEEP))
    zone = current()
    assert (zone.serial, zone.revision) == (7, 1)
    state = signing.signing_of(zone)
    assert (state.presigned, state.denial) == (True, Nsec3(1, b"\xab\xcd"))
    assert state.row_ids.keys() == {"PRESIGNED", "NSEC3PARAM"}
    assert sum(line.split()[2] == "46" for line in lines_of(ZONE)) == 6
    end = presigned.signatures_end(zone)
    assert end is not None
    until = f"{end:%Y-%m-%d %H:%M} UTC"
    served = f"The zone keeps its existing signatures. The first one expires on {until}."
    assert reasons(job) == [("note", served)]


def test_new_signatures_take_the_place_of_the_old_ones(make_import: MakeImport, tmp_path: Path) -> None:
    first = signed_text(ZONE, zone_text(ZONE, "www A 192.0.2.1"), tmp_path, *NSEC3)
    import_all(make_import({"zone": first}, options=KEEP))
    again = import_all(make_import({"zone": first}, options=KEEP))
    assert ImportZone.objects.get(job=again).action == Action.NOTHING
    end = timezone.now().replace(microsecond=0) + timedelta(days=3)
    second = signed_text(ZONE, zone_text(ZONE, "www A 192.0.2.2", "new A 192.0.2.3", serial=5), tmp_path, end=end)
    import_all(make_import({"zone": second}, options=KEEP))
    zone = current()
    assert (zone.serial, zone.revision) == (5, 3)  # its denial was paused in between
    assert signing.signing_of(zone).denial is None
    assert SigningChange.objects.filter(zone=zone).count() == 3
    assert not any(line.split()[3] == "NSEC3" for line in lines_of(ZONE))
    assert presigned.signatures_end(zone) == end


def test_an_import_that_dies_between_its_publications_goes_on(
    make_import: MakeImport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_all(make_import({"zone": signed_text(ZONE, zone_text(ZONE, "www A 192.0.2.1"), tmp_path)}, options=KEEP))
    second = signed_text(ZONE, zone_text(ZONE, "www A 192.0.2.2", serial=8), tmp_path, *NSEC3)
    job = make_import({"zone": second}, options=KEEP)

    def die(**changes: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(apply_piece, "change_zones", die)
        with pytest.raises(KeyboardInterrupt):
            import_all(job)
    state = signing.signing_of(current())
    assert (state.paused, state.denial, current().serial) == (True, None, 7)
    work_through(job)
    state = signing.signing_of(current())
    assert (state.paused, state.denial, current().serial) == (False, Nsec3(1, b"\xab\xcd"), 8)
    assert not ImportZone.objects.filter(job=job, action=Action.WAITING).exists()


def test_a_powerdns_has_the_parameters_of_nsec3_beside_the_records(make_import: MakeImport, tmp_path: Path) -> None:
    signed = signed_text(ZONE, zone_text(ZONE, "www A 192.0.2.1"), tmp_path, "-O", "full", *NSEC3)
    text = "".join(
        line
        for line in signed.splitlines(keepends=True)
        if line.split()[3:4] and line.split()[3] not in ("NSEC3", "NSEC3PARAM")
    )
    job = make_import({"zone": text}, options=KEEP)
    KeptItem.objects.create(job=job, zone=ZONE, kind=KeptKind.METADATA, name="NSEC3PARAM", value=b"1 0 1 abcd")
    import_all(job)
    assert signing.signing_of(current()).denial == Nsec3(1, b"\xab\xcd")
    other = import_all(make_import({"zone": text}, options=KEEP))
    assert any("PowerDNS creates different" in reason for severity, reason in reasons(other) if severity == "error")


@pytest.mark.parametrize("options", [Options(existing="replace"), Options(signatures="keep", existing="union")])
def test_nothing_else_changes_it(make_import: MakeImport, tmp_path: Path, options: Options) -> None:
    text = signed_text(ZONE, zone_text(ZONE, "www A 192.0.2.1"), tmp_path)
    import_all(make_import({"zone": text}, options=KEEP))
    before = lines_of(ZONE)
    other = signed_text(ZONE, zone_text(ZONE, "www A 192.0.2.2"), tmp_path)
    job = import_all(make_import({"zone": other}, options=options))
    [(_, reason)] = [found for found in reasons(job) if found[0] == "error"]
    assert "uses imported signatures" in reason
    assert lines_of(ZONE) == before


def test_a_zone_that_is_here_gets_no_signatures(make_import: MakeImport, make_zone: MakeZone, tmp_path: Path) -> None:
    make_zone("www 300 A 192.0.2.9")
    before = lines_of(ZONE)
    text = signed_text(ZONE, zone_text(ZONE, "www A 192.0.2.1"), tmp_path)
    job = import_all(make_import({"zone": text}, options=KEEP))
    assert any("Delete the existing zone first" in reason for severity, reason in reasons(job) if severity == "error")
    assert lines_of(ZONE) == before
    import_all(make_import({"zone": text}, options=Options(existing="replace")))
    assert not signing.signing_of(current()).is_signed


def test_signatures_that_have_ended_are_refused(make_import: MakeImport, tmp_path: Path) -> None:
    plain = zone_text(ZONE, "www A 192.0.2.1")
    text = signed_text(ZONE, plain, tmp_path, end=datetime(2021, 1, 1, tzinfo=UTC))
    job = import_all(make_import({"zone": text}, options=KEEP))
    assert reasons(job) == [
        (
            "error",
            "The zone’s signatures expired on 2021-01-01 00:00 UTC. Sign the zone again, "
            "or import it without signatures.",
        )
    ]
    assert not Zone.objects.exists()
    soon = signed_text(ZONE, plain, tmp_path, end=timezone.now() + timedelta(days=2))
    [(severity, _)] = reasons(import_all(make_import({"zone": soon}, options=KEEP)))
    assert severity == "warning"
    assert signing.signing_of(current()).presigned
