"""Tests of the faults themselves: power is lost, system calls don't happen, and packets don't arrive."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import crash
from tests.faults.crash import Point
from tests.faults.disk import Disk, cut, flip_bit, offsets_of
from tests.faults.hosts import Host, is_alive
from tests.faults.relay import Conditions, Direction, tcp_source_port
from tests.full import choose
from tests.stack import until
from tests.workers import FOLDER

pytestmark = pytest.mark.faults


@pytest.fixture
def directory() -> Iterator[Path]:
    path = FOLDER / "fault-harness"
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.usefixtures("root")
def test_what_was_not_synced_is_gone_after_the_power(directory: Path) -> None:
    with Disk(directory, mib=16) as disk:
        for name in ("synced", "unsynced"):
            with (disk.path / name).open("wb") as file:
                file.write(b"x" * 10_000)
                file.flush()
                if name == "synced":
                    os.fsync(file.fileno())
        disk.lose_power()
        assert (disk.path / "synced").read_bytes() == b"x" * 10_000
        lost = disk.path / "unsynced"
        assert not lost.exists() or b"x" not in lost.read_bytes()


@pytest.mark.usefixtures("root")
def test_a_full_disk_takes_nothing_until_it_is_freed(directory: Path) -> None:
    with Disk(directory, mib=16) as disk:
        disk.fill()
        with pytest.raises(OSError, match="No space left"), (disk.path / "more").open("wb", buffering=0) as file:
            file.write(b"x" * 8192)
        disk.free()
        (disk.path / "more").write_bytes(b"x" * 8192)


@pytest.mark.usefixtures("root", "need_strace")
def test_a_process_dies_before_the_call_is_carried_out(directory: Path) -> None:
    path = directory / "digits"
    path.unlink(missing_ok=True)
    (go := directory / "digits.go").unlink(missing_ok=True)
    process = subprocess.Popen([sys.executable, "-m", "tests.alone.write_digits", str(path)])
    try:
        until(path.exists, seconds=30, what="the process at work")
        assert crash.kill_at(process.pid, Point("write", 4), lambda: go.write_bytes(b""))
        assert path.read_bytes() == b"123"
        assert not is_alive(process.pid)
    finally:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("root")
def test_a_cut_link_carries_nothing_and_a_bad_one_is_slow() -> None:
    with Host() as host:
        assert seconds_of_an_echo(host) is not None
        host.cut()
        assert seconds_of_an_echo(host) is None
        host.spoil(delay=0.2)
        found = seconds_of_an_echo(host)
        assert found is not None
        assert found >= 0.4
        host.heal()
        assert seconds_of_an_echo(host) is not None
        namespace = host.namespace
    assert namespace not in subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout


def seconds_of_an_echo(host: Host) -> float | None:
    """Return the round-trip time of a packet to the host, or None if it is lost."""
    done = subprocess.run(
        [*host.prefix, sys.executable, "-m", "tests.alone.echo"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OURS": host.ours},
        timeout=30,
    )
    return float(done.stdout) if done.stdout.strip() else None


def test_a_relay_knows_whose_packets_to_lose() -> None:
    packet = bytes((0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6)) + bytes(10) + (8533).to_bytes(2, "big") + bytes(18)
    assert tcp_source_port(packet) == 8533
    assert tcp_source_port(packet[:9] + b"\x11" + packet[10:]) is None
    assert Direction(0, 0, from_host=True).waiting == []
    assert Conditions().lost_ports == ()


def test_bits_flip_and_files_are_cut(directory: Path) -> None:
    path = directory / "bytes"
    path.write_bytes(b"....needle....needle....")
    assert list(offsets_of(path, b"needle")) == [4, 14]
    flip_bit(path, 4, bit=1)
    assert path.read_bytes()[4:10] == b"leedle"
    cut(path)
    assert path.stat().st_size == 12


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    assert choose(range(100), 5, seed=7) == choose(range(100), 5, seed=7)
    assert choose(range(3), 5, seed=7) == [0, 1, 2]
    assert sorted(choose(range(100), 5, seed=8)) == choose(range(100), 5, seed=8)
