"""Exports of BIND zone files and of archives of zone files."""

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import dns.rdataclass
import dns.zone
import pytest

from dnspanel.transfer.exports import bind
from dnspanel.transfer.exports.bind import ZoneArchive, file_name, zone_lines
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset, make
from tests.dnspanel.transfer.estates import ODD_ZONES, apex, estate, exported

Served = set[tuple[str, int, int, bytes]]


def text_of(zone: str, rrsets: list[RRset]) -> str:
    return "".join(zone_lines(exported(zone, rrsets)))


# dnspython reads these only in the form of RFC 3597.
UNKNOWN_TO_DNSPYTHON = {rdtypes.MB, rdtypes.MG, rdtypes.MR, rdtypes.MINFO, rdtypes.RKEY}
OF_UNKNOWN_TYPE = re.compile(r"^\S+ \d+ IN (MB|MG|MR|MINFO|RKEY) .*\n", re.MULTILINE)


def served(rrsets: list[RRset]) -> Served:
    return {(r.name, r.type, r.ttl, rdata.to_wire(r.type, text)) for r in rrsets for text in r.served}


def read_by_dnspython(zone: str, text: str) -> Served:
    found = dns.zone.from_text(text, zone, relativize=False, check_origin=False)
    return {
        (name.canonicalize().to_text(), int(item.rdtype), ttl, item.to_wire())
        for name, ttl, item in found.iterate_rdatas()
    }


def read_dump(text: str) -> Served:
    """Parse the output of named-checkzone: one absolute record per line."""
    found = set()
    for line in text.splitlines():
        name, ttl, _, mnemonic, value = line.split(None, 4)
        type_ = rdata.type_from_text(mnemonic)
        if type_ in (rdtypes.L64, rdtypes.NID):  # dnspython needs the leading zeros that BIND omits
            value = re.sub(r"[0-9a-f]+(?=:|$)", lambda group: group[0].rjust(4, "0"), value)
        found.add((names.parse(name), type_, int(ttl), rdata.to_wire(type_, rdata.parse(type_, value))))
    return found


def checked_by_bind(zone: str, path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = ["named-checkzone", "-i", "none", "-k", "ignore", "-M", "ignore", "-S", "ignore", "-r", "ignore"]
    return subprocess.run(
        [*command, *more, "--", zone, str(path)], check=False, capture_output=True, text=True, timeout=30
    )


def archive_of(zones: dict[str, list[RRset]]) -> bytes:
    out = io.BytesIO()
    archive = ZoneArchive(out, 1_700_000_000)
    for name, lines_of in bind.LISTS.items():
        archive.add_file(name, lines_of(zones))
    for zone, rrsets in zones.items():
        archive.add_zone(exported(zone, rrsets))
    archive.close()
    return out.getvalue()


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """Return a directory with the odd zones' archive, unpacked by tar."""
    (tmp_path / "a.tar").write_bytes(archive_of(estate()))
    subprocess.run(["tar", "-xf", "a.tar"], cwd=tmp_path, check=True, timeout=30)
    return tmp_path


def test_a_zone_reads_well() -> None:
    rrsets = [
        *apex("shop.test."),
        make("www.shop.test.", rdtypes.A, 300, ["192.0.2.1", "192.0.2.2"], comment="two hosts"),
        make("old.www.shop.test.", rdtypes.A, 300, ["192.0.2.3", "192.0.2.4"], ["192.0.2.3"]),
        make("shop.test.", rdtypes.A, 300, ["192.0.2.1"]),
    ]
    assert text_of("shop.test.", rrsets).splitlines() == [
        "$ORIGIN shop.test.",
        "@ 3600 IN SOA ns1.example.net. hostmaster.example.net. 7 10800 3600 604800 3600",
        "@ 300 IN A 192.0.2.1",
        "@ 3600 IN NS ns1.example.net.",
        "@ 3600 IN NS ns2.example.net.",
        "www 300 IN A 192.0.2.1 ; two hosts",
        "www 300 IN A 192.0.2.2",
        ";!disabled old.www 300 IN A 192.0.2.3",
        "old.www 300 IN A 192.0.2.4",
    ]


def test_a_type_that_only_powerdns_knows_is_written_for_everybody() -> None:
    lines = text_of("a.test.", [make("a.test.", rdtypes.ALIAS, 60, ["cdn.test."], comment="x")]).splitlines()
    assert lines[1:] == ["; @ 60 IN ALIAS cdn.test.", "@ 60 IN TYPE65401 \\# 10 0363646e047465737400 ; x"]


def test_the_root_zone_has_names_of_its_own() -> None:
    rrsets = [make(".", rdtypes.NS, 60, ["a.root.test."]), make("test.", rdtypes.NS, 60, ["ns.test."])]
    assert text_of(".", rrsets) == "$ORIGIN .\n@ 60 IN NS a.root.test.\ntest 60 IN NS ns.test.\n"


def test_a_comment_cannot_break_out_of_its_line() -> None:
    rrset = make("a.test.", rdtypes.A, 60, ["192.0.2.1"], comment="one\nb 60 IN A 192.0.2.66\r\x85\u2028two")
    lines = text_of("a.test.", [rrset]).split("\n")
    assert lines == ["$ORIGIN a.test.", "@ 60 IN A 192.0.2.1 ; one b 60 IN A 192.0.2.66 two", ""]


@pytest.mark.parametrize("zone", estate(), ids=str)
def test_dnspython_reads_what_nodes_serve(zone: str) -> None:
    rrsets = estate()[zone]
    text = OF_UNKNOWN_TYPE.sub("", text_of(zone, rrsets))
    expected = {record for record in served(rrsets) if record[1] not in UNKNOWN_TO_DNSPYTHON}
    assert read_by_dnspython(zone, text) == expected


def test_bind_reads_every_file_as_it_was_meant(unpacked: Path) -> None:
    for zone, rrsets in estate().items():
        path = unpacked / "zones" / file_name(zone)
        done = checked_by_bind(zone, path, "-o", str(unpacked / "dumped"), "-D")
        assert done.returncode == 0, f"{zone}: {done.stdout}{done.stderr}"
        assert read_dump((unpacked / "dumped").read_text()) == served(rrsets)


def test_bind_accepts_the_list_and_finds_every_file(unpacked: Path) -> None:
    done = subprocess.run(
        ["named-checkconf", "-z", "named.conf"], cwd=unpacked, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.count("loaded serial 7") == len(estate()), done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr


def test_nsd_accepts_the_list(unpacked: Path) -> None:
    tool = shutil.which("nsd-checkconf") or pytest.skip("nsd is not installed on this machine")
    (unpacked / "whole.conf").write_text(f'server:\n  zonesdir: "{unpacked}"\ninclude: "{unpacked}/nsd.conf"\n')
    done = subprocess.run([tool, "whole.conf"], cwd=unpacked, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_knot_accepts_the_list(unpacked: Path) -> None:
    tool = shutil.which("knotc") or pytest.skip("knot is not installed on this machine")
    (unpacked / "whole.conf").write_text(
        f'template:\n  - id: default\n    storage: "{unpacked}"\ninclude: {unpacked}/knot.conf\n'
    )
    done = subprocess.run(
        [tool, "-c", "whole.conf", "conf-check"],
        cwd=unpacked,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_zone_has_a_file_name_of_its_own_that_is_legal_everywhere() -> None:
    long = ["x" * 63 + "." + "y" * 63 + "." + end + ".test." for end in ("a", "b")]
    found = [file_name(zone) for zone in (*ODD_ZONES, *long, ".", "root.", "a.b.test.", "a\\.b.test.")]
    assert len(set(found)) == len(found)
    assert all(len(name) <= 90 and name.isascii() for name in found)
    assert not any(set(name) & set('/\\:*?"<>| %') or name.startswith(".") for name in found)
    assert file_name("0/25.2.0.192.in-addr.arpa.") == "0=2F25.2.0.192.in-addr.arpa.zone"
    assert file_name(".") == "=2E.zone"


def test_the_archive_is_what_tarfile_would_have_made() -> None:
    found = archive_of({"a.test.": apex("a.test.")})
    with tarfile.open(fileobj=io.BytesIO(found)) as tar:
        members = tar.getmembers()
        assert [member.name for member in members] == ["named.conf", "nsd.conf", "knot.conf", "zones/a.test.zone"]
        for member in members:
            again = tarfile.TarInfo(member.name)
            again.size, again.mtime = member.size, member.mtime
            start = member.offset
            assert found[start : start + 512] == again.tobuf(tarfile.USTAR_FORMAT)


def test_a_zone_larger_than_its_place_in_memory_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bind, "_TEXT_IN_MEMORY", 1000)
    many = [make(f"h{number:04}.big.test.", rdtypes.A, 60, ["192.0.2.1"]) for number in range(3000)]
    zones = {"big.test.": [*apex("big.test."), *many], "small.test.": apex("small.test.")}
    with tarfile.open(fileobj=io.BytesIO(archive_of(zones))) as tar:
        big = tar.extractfile("zones/big.test.zone")
        small = tar.extractfile("zones/small.test.zone")
        assert big is not None
        assert small is not None
        assert big.read().decode() == text_of("big.test.", zones["big.test."])
        assert small.read().decode() == text_of("small.test.", zones["small.test."])
