import pytest

from dnspanel.transfer.archives.paths import PathIndex
from dnspanel.transfer.sources.listing import Listing, configurations_of, is_configuration, listing_of
from dnspanel.zones.rules.violations import Severity


def listing(files: dict[str, bytes]) -> Listing:
    texts = {path: text for path, text in files.items() if is_configuration(text)}
    return listing_of(configurations_of(texts), PathIndex(files))


def zone(name: str, file: str, type: str = "master") -> bytes:
    return f'zone "{name}" {{ type {type}; file "{file}"; }};\n'.encode()


def test_zones_are_found_by_the_paths_of_their_server() -> None:
    found = listing(
        {
            "bind/named.conf": b'options { directory "/var/named"; };\n'
            + zone("A.test", "/etc/bind/zones/a")
            + zone("b.test", "b"),
            "bind/zones/a": b"",
            "var/named/b": b"",
            "other/b": b"",
        }
    )

    assert found.zones == {"bind/zones/a": ["a.test."], "var/named/b": ["b.test."]}
    assert (found.directory, found.faults) == ("/var/named", [])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("slash", ["\\", "\\\\"])
def test_zones_are_found_by_the_paths_of_windows(mark: bytes, slash: str) -> None:
    found = listing(
        {
            "etc/named.conf": mark
            + rb'options { directory "C:\\named\\zones"; };'
            + f'\r\ninclude "C:{slash}named{slash}etc{slash}more.conf";\r\n'.encode()
            + zone("a.test", f"C:{slash}named{slash}other{slash}a.db")
            + zone("b.test", "b.db"),
            "etc/more.conf": zone("c.test", rf"D:{slash}C.db"),
            "zones/a.db": b"",
            "other/a.db": b"",
            "zones/b.db": b"",
            "other/b.db": b"",
            "zones/c.db": b"",
        }
    )

    assert found.zones == {"other/a.db": ["a.test."], "zones/b.db": ["b.test."], "zones/c.db": ["c.test."]}
    assert found.faults == []


def test_one_file_may_be_several_zones() -> None:
    assert listing({"named.conf": zone("a.test", "x") + zone("b.test", "x"), "x": b""}).zones == {
        "x": ["a.test.", "b.test."]
    }


def test_included_files_count_where_they_are_included() -> None:
    found = listing(
        {
            "named.conf": b'include "/etc/bind/local.conf";\nview "in" { include "zones.conf"; };\n',
            "zones.conf": zone("a.test", "a"),
            "local.conf": b'options { directory "/srv"; };\n',
            "a": b"",
        }
    )

    assert (found.zones, found.directory, found.faults) == ({"a": ["a.test."]}, "/srv", [])


def test_a_circle_of_includes_ends() -> None:
    found = listing(
        {
            "a.conf": b'include "b.conf";\n' + zone("a.test", "x"),
            "b.conf": b'include "a.conf";\n' + zone("b.test", "x"),
            "x": b"",
        }
    )

    assert found.zones == {"x": ["b.test.", "a.test."]}


def test_what_is_missing_is_reported_with_its_line() -> None:
    found = listing({"named.conf": b'include "gone.conf";\n' + zone("a.test", "gone"), "b": b""})

    assert [(fault.line, fault.code, fault.severity, fault.zone) for fault in found.faults] == [
        (1, "include", Severity.WARNING, ""),
        (2, "zone-file", Severity.ERROR, "a.test."),
    ]
    assert found.faults[1].reason == "the file “gone” is not in the upload"
    assert found.faults[1].source.startswith('zone "a.test"')


def test_a_file_that_could_be_several_is_not_guessed() -> None:
    found = listing({"named.conf": zone("a.test", "/x/db"), "a/db": b"", "b/db": b""})

    assert found.zones == {}
    assert found.faults[0].reason == "the file “/x/db” could be any of a/db, b/db"


def test_zones_that_are_not_primary_are_notes_and_their_files_passed_over() -> None:
    found = listing(
        {
            "named.conf": zone("a.test", "slave/a", "slave")
            + zone(".", "root.hints", "hint")
            + b'zone "bind" CH { type master; file "x"; };\nzone "f.test" { type forward; };\n',
            "slave/a": b"",
        }
    )

    assert {fault.severity for fault in found.faults} == {Severity.NOTE}
    assert [fault.reason for fault in found.faults] == [
        "a.test has the type slave, but only primary zones are imported",
        ". has the type hint, but only primary zones are imported",
        "bind has the class CH, but only IN is imported",
        "f.test has the type forward, but only primary zones are imported",
    ]
    assert found.passed_over == {"slave/a"}


def test_a_zone_in_two_views_is_listed_twice_and_reported() -> None:
    found = listing(
        {
            "named.conf": b'view "in" {\n'
            + zone("a.test", "in/a")
            + b'};\nview "out" {\n'
            + zone("a.test", "out/a")
            + b"};",
            "in/a": b"",
            "out/a": b"",
        }
    )

    assert found.zones == {"in/a": ["a.test."], "out/a": ["a.test."]}
    assert [(fault.line, fault.code) for fault in found.faults] == [(5, "view")]


def test_bad_names_and_zones_without_files_are_faults() -> None:
    found = listing({"named.conf": zone("a..test", "x") + b'zone "b.test" { type master; };\n', "x": b""})

    assert [(fault.line, fault.code) for fault in found.faults] == [(1, "zone-name"), (2, "zone-file")]


def test_the_lists_of_one_server_are_enough() -> None:
    files = {
        "nsd.conf": b'zone:\n  name: "a.test"\n  zonefile: zones/a\n',
        "knot.conf": b"zone:\n  - domain: a.test\n    file: zones/a\n",
        "zones/a": b"",
    }
    both = listing(files)
    three = listing({"named.conf": zone("a.test", "zones/a"), **files})

    assert both.zones == three.zones == {"zones/a": ["a.test."]}
    assert both.faults == three.faults == []


def test_patterns_include_all_that_fit() -> None:
    found = listing(
        {
            "nsd.conf": b"zone:\ninclude: /etc/nsd/zones.d/*.conf\n",
            "zones.d/1.conf": b"zone:\n  name: a.test\n  zonefile: a\n",
            "zones.d/2.conf": b"zone:\n  name: b.test\n  zonefile: a\n",
            "a": b"",
        }
    )

    assert (found.zones, found.faults) == ({"a": ["a.test.", "b.test."]}, [])
