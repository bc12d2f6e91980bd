"""The release of the installed PowerDNS, as the program itself reports it."""

from pathlib import Path

import pytest

from replication.agent.powerdns.installed import InstalledPowerdns, schema_of_release
from tests.replication.agent.servers import PDNS_SERVER


@pytest.mark.parametrize(
    ("release", "schema"),
    [
        ("4.7.3", 4),
        ("4.8.0", 5),
        ("4.9.17", 5),
        ("5.0.0-rc1", 6),
        ("5.1.5", 6),
        ("4.6.2", 0),
        ("6.0.0", 0),
        ("12.1", 0),
        ("", 0),
        ("0.0.1234gdeadbeef", 0),
    ],
)
def test_every_release_has_the_schema_that_it_writes_and_others_none(release: str, schema: int) -> None:
    assert schema_of_release(release) == schema


def write_program(path: Path, output: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\necho {output!r} >&2\nexit 99\n")
    path.chmod(0o755)


def test_the_real_program_says_its_release() -> None:
    if PDNS_SERVER is None:
        pytest.skip("pdns_server is not installed")
    assert schema_of_release(InstalledPowerdns("pdns_server").release) in (4, 5, 6)


def test_a_program_that_was_replaced_is_run_again(tmp_path: Path) -> None:
    program = tmp_path / "pdns_server"
    installed = InstalledPowerdns(str(program))
    assert installed.release == ""
    write_program(program, "Nov 21 PowerDNS Authoritative Server 4.7.3 (C) PowerDNS.COM BV")
    assert installed.release == "4.7.3"
    write_program(program, "Nov 22 PowerDNS Authoritative Server 4.9.17 (C) PowerDNS.COM BV")
    assert installed.release == "4.9.17"
    program.unlink()
    assert installed.release == ""


def test_a_program_that_says_something_else_has_no_release(tmp_path: Path) -> None:
    write_program(tmp_path / "pdns_server", "PowerDNS Recursor 5.0.1")
    assert InstalledPowerdns(str(tmp_path / "pdns_server")).release == ""
    (tmp_path / "pdns_server").write_bytes(b"\x7fELF, but not really")
    assert InstalledPowerdns(str(tmp_path / "pdns_server")).release == ""
