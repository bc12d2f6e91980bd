"""Zones that BIND's dnssec-signzone signs, with keys that it makes."""

import subprocess
from datetime import datetime
from pathlib import Path

from replication.codec.dnssec import Nsec3
from tests.dnspanel.transfer.running import needed

# An empty non-terminal, a wildcard, glue, delegations with and without DS.
LINES = (
    "www A 192.0.2.1",
    "www 60 TXT x",
    "*.wild MX 5 www",
    "deep.empty CNAME www",
    "far NS ns.far",
    "ns.far A 192.0.2.7",
    "near NS ns.far",
    f"near DS 1 13 2 {'ab' * 32}",
)
# Each kind of denial that a file can hold, and what dnssec-signzone makes it of.
DENIALS: dict[str, tuple[Nsec3 | None, tuple[str, ...]]] = {
    "nsec": (None, ()),
    "nsec3": (Nsec3(), ("-3", "-", "-H", "0")),
    "salted": (Nsec3(2, bytes.fromhex("abcd")), ("-3", "abcd", "-H", "2")),
    "optout": (Nsec3(opt_out=True), ("-3", "-", "-H", "0", "-A")),
}


def signed_text(zone: str, text: str, folder: Path, *options: str, end: datetime | None = None) -> str:
    """The zone file, signed by a CSK that is in the folder, or is made there; `end` of its signatures."""
    needed("dnssec-keygen", "dnssec-signzone")
    keys = folder / f"keys-{zone}"
    if not keys.exists():
        keys.mkdir()
        _run(["dnssec-keygen", "-q", "-K", keys, "-a", "13", "-f", "KSK", zone])
    source, signed = folder / f"{zone}text", folder / f"{zone}signed"
    source.write_text(text)
    times = ["-s", "20200101000000", "-e", f"{end:%Y%m%d%H%M%S}"] if end else []
    more = ["-P"] if end else []  # BIND would refuse what has ended
    where = ["-K", keys, "-d", folder]
    _run(["dnssec-signzone", "-q", "-S", "-z", *where, *times, *more, *options, "-o", zone, "-f", signed, source])
    return signed.read_text()


def _run(command: list[str | Path]) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
