"""Zones that BIND's dnssec-signzone signs, with keys that it makes."""

import subprocess
from datetime import datetime
from pathlib import Path

from tests.dnspanel.transfer.running import needed


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
