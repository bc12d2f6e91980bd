"""Real packets on a veth pair reach dnsdist with AF_XDP, in the generic mode that every driver supports.

Tests `front.xdp_program` too.
"""

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from replication.front import xdp
from replication.front.release import Release
from replication.front.xdp_program import Maps, encode_keys, encode_program
from replication.store.applying import POSITION_ZONE
from replication.wire.front_messages import Endpoint
from tests.oracle.powerdns import PowerDNS, Unavailable, native, program_of_suite
from tests.replication.agent.servers import short_directory
from tests.replication.front.namespaces import (
    ADDRESS,
    INTERFACE,
    CannotHave,
    Host,
    answering,
    front_toml,
    pair_of_hosts,
    started,
    wait_for_answer,
)
from tests.replication.front.servers import until

ROOT = Path(__file__).parents[3]
FRONT = (sys.executable, "-m", "replication.front")
SOA = "$TTL 300\n@ SOA ns1.example.net. hostmaster.example.net. 1 3600 600 86400 300\n@ NS ns1.example.net.\n"
ZONES = {"example.test.": SOA + "www A 192.0.2.1\n", POSITION_ZONE: SOA + '@ TXT "here"\n'}
NAME, QUESTIONS = "www.example.test.", 2000

logger = logging.getLogger(__name__)


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    try:
        with pair_of_hosts() as (client, front):
            yield client, front
    except CannotHave as exc:
        pytest.skip(str(exc))


@contextmanager
def running_dnsdist(front: Host, path: Path, *within: str) -> Iterator[None]:
    """Run dnsdist on the front's host as its systemd unit does. The command `within` limits its rights."""
    words = ("env", f"PYTHONPATH={ROOT}", *FRONT, "start", "--config", str(path))
    with started(front, *within, *words, log=path.parent / "log"):
        yield


def attach(front: Host, path: Path) -> None:
    """Attach the program to the interface, or skip the test with the reason."""
    words = ("env", f"PYTHONPATH={ROOT}", *FRONT, "xdp", "--generic", "--config", str(path))
    try:
        assert front.run(*words) == f"{INTERFACE}: 1 queues, by the kernel\n"
    except subprocess.CalledProcessError as exc:
        pytest.skip(exc.stderr.strip())


def dnsdist_and_pdns(suite: str, directory: Path) -> tuple[Path, PowerDNS]:
    """Return the programs of dnsdist and PowerDNS, or skip the test with the reason."""
    try:
        return program_of_suite(suite, "usr/bin/dnsdist", directory), native()
    except Unavailable as exc:
        pytest.skip(str(exc))


def ask_often(client: Host, directory: Path) -> tuple[float, int]:
    """Return the number of answers per second, and the number of unanswered questions."""
    questions = directory / "questions"
    questions.write_text(f"{NAME} A\n" * QUESTIONS)
    text = client.run("dnsperf", "-s", ADDRESS, "-d", str(questions), "-n", "1", "-c", "8", "-q", "50", "-t", "2")
    found = [re.search(rf"{words}:\s+([\d.]+)", text) for words in ("Queries per second", "Queries lost")]
    assert all(found), text
    return float(found[0][1]), int(found[1][1])  # type: ignore[index]


@pytest.mark.parametrize("suite", ["trixie", "sid"])
def test_questions_come_past_the_kernel_and_are_answered_beside_the_same_without(
    hosts: tuple[Host, Host], suite: str
) -> None:
    client, front = hosts
    with short_directory() as directory:
        program, powerdns = dnsdist_and_pdns(suite, directory)
        with answering(front, powerdns, ZONES) as port:
            sockets = {}
            for interface in (INTERFACE, ""):
                path = front_toml(directory, str(program), port, cache_entries=1000, interface=interface)
                if interface:
                    attach(front, path)
                with running_dnsdist(front, path):
                    wait_for_answer(client, NAME, "192.0.2.1")
                    before = front.received_by_udp_sockets()
                    qps, lost = ask_often(client, directory)
                    sockets[interface] = front.received_by_udp_sockets() - before
                    logger.info("suite=%s past_the_kernel=%s qps=%.0f lost=%d", suite, bool(interface), qps, lost)
                    # In the generic mode frames are lost while other processes use the processor.
                    assert lost < QUESTIONS / 10
                    # TCP is handled by the kernel as always.
                    assert client.run("dig", "+tcp", "+short", f"@{ADDRESS}", NAME, "A").strip() == "192.0.2.1"
            assert sockets[INTERFACE] < QUESTIONS / 100, "they did not come through the kernel's sockets"
            assert sockets[""] >= QUESTIONS
        [conf] = (directory / "state").glob("dnsdist.[cy]*")
        assert "xsk" not in conf.read_text(), "the last start was without"


def test_where_dnsdist_is_not_given_them_it_starts_with_ordinary_sockets_and_the_reason(
    hosts: tuple[Host, Host],
) -> None:
    client, front = hosts
    with short_directory() as directory:
        program, powerdns = dnsdist_and_pdns("trixie", directory)
        with answering(front, powerdns, ZONES) as port:
            path = front_toml(directory, str(program), port, cache_entries=0, interface=INTERFACE)
            attach(front, path)
            bounds = ("setpriv", "--bounding-set=-ipc_lock", "prlimit", "--memlock=65536")
            with running_dnsdist(front, path, *bounds):
                wait_for_answer(client, NAME, "192.0.2.1")
            assert "\n-- no AF_XDP: " in (directory / "state" / "dnsdist.conf").read_text()
            with running_dnsdist(front, path):
                wait_for_answer(client, NAME, "192.0.2.1")
            assert "newXsk(" in (directory / "state" / "dnsdist.conf").read_text(), "it is tried at each start"


def test_a_dnsdist_that_starts_before_the_last_one_has_ended_waits_for_its_queues(hosts: tuple[Host, Host]) -> None:
    client, front = hosts
    with short_directory() as directory:
        program, powerdns = dnsdist_and_pdns("trixie", directory)
        with answering(front, powerdns, ZONES) as port:
            path = front_toml(directory, str(program), port, cache_entries=0, interface=INTERFACE)
            attach(front, path)
            log = directory / "log"
            with ExitStack() as last:
                last.enter_context(running_dnsdist(front, path))
                wait_for_answer(client, NAME, "192.0.2.1")
                with running_dnsdist(front, path):
                    until(lambda: "waits for the interface's queues" in log.read_text(), "the second finds them taken")
                    last.close()
                    wait_for_answer(client, NAME, "192.0.2.1")
                    assert "newXsk(" in (directory / "state" / "dnsdist.conf").read_text()


def test_who_cannot_have_it_is_told_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    able = Release("1.9.16", frozenset(("AF_XDP",)))
    assert xdp.queues_for("", able) == (0, "")
    assert "built without it" in xdp.queues_for("lo", Release("1.7.3", frozenset()))[1]
    assert "there is no interface nowhere0 here" in xdp.queues_for("nowhere0", able)[1]
    monkeypatch.setattr(xdp, "XSK_MAP", str(tmp_path / "xskmap"))
    assert "nothing is attached to lo" in xdp.queues_for("lo", able)[1]
    (tmp_path / "xskmap").touch()
    assert xdp.queues_for("lo", able) == (1, "")


def test_the_program_is_the_same_bytes_until_somebody_means_to_change_it() -> None:
    code = encode_program(Maps(3, 4, 5))
    assert len(code) % 8 == 0
    assert code[-16:] == bytes.fromhex("b700000002000000 9500000000000000"), "what is not for dnsdist passes"
    # Jumps only go forwards, and stay inside the program.
    for at in range(0, len(code), 8):
        if code[at] in (0x15, 0x55, 0x2D, 0x05):
            offset = int.from_bytes(code[at + 2 : at + 4], "little")
            assert at // 8 + 1 + offset < len(code) // 8


def test_addresses_and_ports_are_as_in_a_packet() -> None:
    keys4, keys6 = encode_keys([Endpoint("192.0.2.1", 53), Endpoint("2001:db8::1", 5353)])
    assert keys4 == [bytes.fromhex("c0000201 0035 0000")]
    assert keys6 == [bytes.fromhex("20010db8000000000000000000000001 14e9 0000")]
