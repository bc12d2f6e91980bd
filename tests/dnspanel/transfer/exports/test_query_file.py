"""Exports of query files for dnsperf and queryperf."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from dnspanel.transfer.exports.exported_rows import ExportedZone
from dnspanel.transfer.exports.query_file import QueryOptions, query_lines
from replication.dns import rdtypes
from replication.dns.rrset import RRset, make
from tests.dnspanel.transfer.estates import apex, estate, exported
from tests.oracle import powerdns


def lines(zones: dict[str, list[RRset]], **options: int) -> list[str]:
    found: list[ExportedZone] = [exported(zone, rrsets) for zone, rrsets in zones.items()]
    return [line.rstrip("\n") for line in query_lines(found, QueryOptions(**options))]  # type: ignore[arg-type]


def many(zone: str, hosts: int) -> list[RRset]:
    return [*apex(zone), *(make(f"h{number}.{zone}", rdtypes.A, 60, ["192.0.2.1"]) for number in range(hosts))]


def test_every_served_name_and_type_is_queried_once() -> None:
    zone = [
        *apex("a.test."),
        make("www.a.test.", rdtypes.A, 60, ["192.0.2.1", "192.0.2.2"], ["192.0.2.1"]),
        make("off.a.test.", rdtypes.A, 60, ["192.0.2.1"], ["192.0.2.1"]),
        make("alias.a.test.", rdtypes.ALIAS, 60, ["cdn.test."]),
        make("lua.a.test.", rdtypes.LUA, 60, ['A "x"', 'AAAA "y"']),
        make("odd.a.test.", 1234, 60, ["\\# 1 00"]),
    ]
    assert lines({"a.test.": zone}) == [
        "a.test. SOA",
        "a.test. NS",
        "alias.a.test. A",
        "alias.a.test. AAAA",
        "lua.a.test. A",
        "lua.a.test. AAAA",
        "odd.a.test. TYPE1234",
        "www.a.test. A",
    ]


def test_a_wildcard_is_queried_by_a_name_that_it_answers() -> None:
    [*_, line] = lines({"a.test.": [*apex("a.test."), make("*.a.test.", rdtypes.A, 60, ["192.0.2.1"])]})
    assert not line.startswith("*")
    assert line.endswith(".a.test. A")


@pytest.mark.parametrize("percent", [1, 20, 50, 90])
def test_the_share_of_random_names_is_as_chosen(percent: int) -> None:
    found = lines({"a.test.": many("a.test.", 3000)}, random_percent=percent)
    random = [line for line in found if line.startswith("x-")]
    assert len(found) - len(random) == 3002
    assert abs(100 * len(random) / len(found) - percent) < 1.5
    assert len(set(random)) == len(random)


def test_the_same_seed_makes_the_same_file() -> None:
    zones = {"a.test.": many("a.test.", 200)}
    options = {"sample": 50, "random_percent": 30}
    assert lines(zones, seed=7, **options) == lines(zones, seed=7, **options)
    assert lines(zones, seed=7, **options) != lines(zones, seed=8, **options)


def test_a_sample_is_of_this_size_without_doubles_and_in_any_order() -> None:
    found = lines({"a.test.": many("a.test.", 500)}, sample=100)
    assert len(found) == len(set(found)) == 100
    assert found != sorted(found)
    assert len(lines({"a.test.": many("a.test.", 10)}, sample=100)) == 12


def test_zones_count_by_their_size_or_alike() -> None:
    zones = {"large.test.": many("large.test.", 998)} | {
        f"s{number}.test.": many(f"s{number}.test.", 8) for number in range(100)
    }
    by_size = Counter("large" in line for line in lines(zones, sample=200))
    alike = Counter("large" in line for line in lines(zones, sample=200, each_zone_alike=True))
    assert 70 < by_size[True] < 130  # half of all names
    assert alike[True] < 12  # one zone of 101


@pytest.mark.parametrize("options", [{"sample": -1}, {"sample": 5_000_001}, {"random_percent": 96}])
def test_impossible_options_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"can have at most|must not exceed"):
        QueryOptions(**options)  # type: ignore[arg-type]


def test_dnsperf_reads_the_file_and_a_server_answers_it(tmp_path: Path) -> None:
    tool = shutil.which("dnsperf") or pytest.skip("dnsperf is not installed on this machine")
    rrsets = [rrset for rrset in estate()["odd.test."] if rrset.type not in (rdtypes.LUA, rdtypes.ALIAS)]
    queries = tmp_path / "queries.txt"
    queries.write_text("".join(query_lines([exported("odd.test.", rrsets)], QueryOptions(random_percent=50))))
    text = "".join(f"{r.name} {r.ttl} IN {_type(r)} {value}\n" for r in rrsets for value in r.served)
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    with installation.place("perf") as place:
        place.load_zone("odd.test.", text)
        with place.server() as port:
            done = subprocess.run(
                [tool, "-s", "127.0.0.1", "-p", str(port), "-d", str(queries), "-n", "1", "-l", "5"],
                check=False,
                capture_output=True,
                text=True,
                timeout=30,
            )
    queries_sent = len(queries.read_text().splitlines())
    assert f"Queries sent:         {queries_sent}\n" in done.stdout, done.stdout + done.stderr
    assert f"Queries completed:    {queries_sent} (100.00%)" in done.stdout
    codes = next(line for line in done.stdout.splitlines() if "Response codes" in line)
    assert {word for word in codes.split() if word.isupper()} == {"NOERROR"}  # a wildcard answers the random names


def _type(rrset: RRset) -> str:
    return rdtypes.type_to_text(rrset.type)
