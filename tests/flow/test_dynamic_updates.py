"""DNS UPDATE, AXFR and dyndns2 with common client programs, until all three name servers answer."""

import base64
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from dnspanel.demo.stack import Stack
from tests.stack import ask_all, make_person, run_inside, until

pytestmark = pytest.mark.flow

ZONE = "dynamic.test."
SECONDS_TO_ANSWER = 10.0


@dataclass(frozen=True, slots=True)
class Zone:
    """The test zone, and the secrets for programs that change it."""

    stack: Stack
    secrets: dict[str, str]

    @property
    def key(self) -> str:
        return f"hmac-sha256:whole.key:{self.secrets['whole']}"

    @property
    def acme_key(self) -> str:
        return f"hmac-sha512:acme.key:{self.secrets['acme']}"

    def nsupdate(self, *lines: str, options: tuple[str, ...] = (), key: str = "", names_zone: bool = True) -> str:
        """Run nsupdate and return its output: empty on success, else the rcode and details."""
        start = [f"server 127.0.0.1 {self.stack.update_port}", *([f"zone {ZONE}"] if names_zone else [])]
        signing = ("-y", key or self.key)
        if key == "none":
            signing = ()
        return run(["nsupdate", *options, *signing], input="\n".join([*start, *lines, "send", ""]))

    def dig(self, *words: str) -> str:
        return run(["dig", "@127.0.0.1", "-p", str(self.stack.update_port), *words])

    def answers(self, name: str, type_: str = "A", *, rdata: tuple[str, ...], rcode: str = "NOERROR") -> None:
        """Wait until all nodes give this answer."""
        wanted = [(rcode, rdata)] * len(self.stack.nodes)
        until(
            lambda: [(a.rcode, a.rdata) for a in ask_all(self.stack, f"{name}.{ZONE}", type_)] == wanted,
            seconds=SECONDS_TO_ANSWER,
            what=f"{name} {type_} {rdata or rcode} at every node",
        )


def run(command: list[str], *, input: str = "") -> str:
    """Run the program, and return its stdout and stderr."""
    done = subprocess.run(command, input=input, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def zone(stack: Stack) -> Zone:
    make_person(stack, "dynamo")
    secrets = run_inside(stack, "dynamic_updates.prepare", ZONE)
    zone = Zone(stack, secrets)
    zone.nsupdate("update add @ 300 TXT ready")
    return zone


@pytest.mark.parametrize("options", [(), ("-v",)], ids=["udp", "tcp"])
@pytest.mark.parametrize("names_zone", [True, False], ids=["zone named", "zone found"])
def test_nsupdate_adds_and_deletes(zone: Zone, options: tuple[str, ...], names_zone: bool) -> None:
    host = f"h{len(options)}{int(names_zone)}"

    def does(*lines: str) -> None:
        assert zone.nsupdate(*lines, options=options, names_zone=names_zone) == ""

    does(f"update add {host}.{ZONE} 300 A 192.0.2.1", f"update add {host}.{ZONE} 300 A 192.0.2.2")
    zone.answers(host, rdata=("192.0.2.1", "192.0.2.2"))
    does(f"update delete {host}.{ZONE} A 192.0.2.1")
    zone.answers(host, rdata=("192.0.2.2",))
    does(f"update delete {host}.{ZONE}", f"update add {host}.{ZONE} 300 CNAME www.example.com.")
    zone.answers(host, "CNAME", rdata=("www.example.com.",))
    does(f"update delete {host}.{ZONE} CNAME")
    zone.answers(host, rcode="NXDOMAIN", rdata=())


def test_prerequisites_of_nsupdate_hold_or_refuse(zone: Zone) -> None:
    name = f"lock.{ZONE}"
    add = f"update add {name} 300 TXT mine"
    assert zone.nsupdate(f"prereq nxdomain {name}", add) == ""
    assert zone.nsupdate(f"prereq nxdomain {name}", add) == "update failed: YXDOMAIN"
    assert zone.nsupdate(f"prereq yxdomain other.{ZONE}", add) == "update failed: NXDOMAIN"
    assert zone.nsupdate(f"prereq yxrrset {name} A", add) == "update failed: NXRRSET"
    assert zone.nsupdate(f"prereq nxrrset {name} TXT", add) == "update failed: YXRRSET"
    assert zone.nsupdate(f"prereq yxrrset {name} TXT yours", f"update delete {name}") == "update failed: NXRRSET"
    zone.answers("lock", "TXT", rdata=('"mine"',))
    assert zone.nsupdate(f"prereq yxrrset {name} TXT mine", f"update delete {name}") == ""
    zone.answers("lock", "TXT", rcode="NXDOMAIN", rdata=())


def test_who_has_no_key_or_a_wrong_one_changes_nothing(zone: Zone) -> None:
    add = f"update add intruder.{ZONE} 300 A 192.0.2.66"
    assert zone.nsupdate(add, key="none") == "update failed: REFUSED"
    assert "BADSIG" in zone.nsupdate(add, key="hmac-sha256:whole.key:Z3Vlc3NlZA==")
    assert "BADKEY" in zone.nsupdate(add, key="hmac-sha256:no.such.key:Z3Vlc3NlZA==")
    assert "BADKEY" in zone.nsupdate(add, key=zone.key.replace("sha256", "sha1"))
    zone.answers("intruder", rcode="NXDOMAIN", rdata=())


def test_a_key_for_one_challenge_can_do_that_and_no_more(zone: Zone) -> None:
    challenge = f"_acme-challenge.www.{ZONE}"
    assert zone.nsupdate(f"update add {challenge} 60 TXT proof", key=zone.acme_key, names_zone=False) == ""
    zone.answers("_acme-challenge.www", "TXT", rdata=('"proof"',))
    assert zone.nsupdate(f"update add www.{ZONE} 60 A 192.0.2.66", key=zone.acme_key) == "update failed: REFUSED"
    assert zone.nsupdate(f"update delete {challenge} TXT", key=zone.acme_key, options=("-v",)) == ""
    zone.answers("_acme-challenge.www", "TXT", rcode="NXDOMAIN", rdata=())


def test_dig_and_kdig_transfer_the_zone(zone: Zone) -> None:
    zone.nsupdate(f"update add axfr.{ZONE} 300 A 192.0.2.5")
    by_dig = zone.dig(ZONE, "AXFR", "-y", zone.key, "+onesoa")
    assert ["axfr.dynamic.test.", "300", "IN", "A", "192.0.2.5"] in map(str.split, by_dig.splitlines())
    assert "TSIG" in by_dig
    assert "Couldn't verify" not in by_dig
    kdig = ["kdig", "@127.0.0.1", "-p", str(zone.stack.update_port), ZONE, "AXFR", "-y", zone.key]
    assert "192.0.2.5" in run(kdig)
    assert "Transfer failed" in zone.dig(ZONE, "AXFR")
    narrow = zone.dig(ZONE, "AXFR", "-y", zone.acme_key)
    assert "SOA" in narrow
    assert "192.0.2.5" not in narrow


def test_a_question_for_the_soa_needs_no_key(zone: Zone) -> None:
    assert "hostmaster" in zone.dig("+short", ZONE, "SOA")
    assert "status: REFUSED" in zone.dig(f"www.{ZONE}", "A")


def test_updates_by_several_at_once_lose_nothing(zone: Zone) -> None:
    script = [f"server 127.0.0.1 {zone.stack.update_port}", f"zone {ZONE}"]
    senders = [
        subprocess.Popen(["nsupdate", "-y", zone.key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for first, sender in enumerate(senders):
        lines = [f"update add pool.{ZONE} 300 A 192.0.2.{number}\nsend" for number in range(first + 1, 25, 4)]
        sender.stdin.write("\n".join([*script, *lines, ""]))  # type: ignore[union-attr]
    assert [sender.communicate(timeout=60)[0] for sender in senders] == [""] * 4
    zone.answers("pool", rdata=tuple(sorted(f"192.0.2.{number}" for number in range(1, 25))))


# dyndns2


def ddclient(zone: Zone, directory: Path, address: str) -> str:
    """Run ddclient once with this address."""
    config = directory / "ddclient.conf"
    host = zone.stack.url.removeprefix("http://")
    config.write_text(
        f"daemon=0\nssl=no\nuse=ip, ip={address}\nprotocol=dyndns2\nserver={host}\nlogin=x\n"
        f"password={zone.secrets['token']}\nhome.{ZONE.rstrip('.')}\n"
    )
    config.chmod(0o600)
    program = shutil.which("ddclient", path="/usr/sbin:/usr/bin")
    assert program is not None
    cache, pid = directory / "cache", directory / "pid"
    return run([program, "-daemon=0", "-verbose", "-file", str(config), "-cache", str(cache), "-pid", str(pid)])


def inadyn(zone: Zone, directory: Path, address: str) -> str:
    """Run inadyn, the client in UniFi and OpenWrt, once with this address."""
    config = directory / "inadyn.conf"
    config.write_text(
        "iterations = 1\nfake-address = false\nallow-ipv6 = false\n"
        "custom panel {\n"
        f'  username = "home"\n  password = "{zone.secrets["token"]}"\n  ssl = false\n'
        f'  ddns-server = "{zone.stack.url.removeprefix("http://")}"\n'
        f'  ddns-path = "/nic/update?hostname=%h&myip={address}"\n'
        f'  checkip-command = "echo {address}"\n'
        f'  hostname = "home.{ZONE.rstrip(".")}"\n}}\n'
    )
    program = shutil.which("inadyn", path="/usr/sbin:/usr/bin")
    assert program is not None
    directories = ["--cache-dir", str(directory), "--pidfile", str(directory / "inadyn.pid")]
    return run([program, "-f", str(config), "--foreground", "--once", "--force", *directories, "-l", "debug"])


@pytest.mark.parametrize(("client", "last"), [(ddclient, 11), (inadyn, 21)], ids=["ddclient", "inadyn"])
def test_a_dyndns_client_moves_its_host(
    zone: Zone, tmp_path: Path, client: Callable[[Zone, Path, str], str], last: int
) -> None:
    for number in (last, last + 1):
        directory = tmp_path / str(number)
        directory.mkdir()
        output = client(zone, directory, f"192.0.2.{number}")
        assert f"good 192.0.2.{number}" in output or "SUCCESS" in output, output
        zone.answers("home", rdata=(f"192.0.2.{number}",))


def test_a_router_that_knows_both_families_and_a_prefix(zone: Zone) -> None:
    def asks(parameters: str) -> str:
        url = f"{zone.stack.url}/nic/update?hostname=home.{ZONE}&{parameters}"
        password = base64.b64encode(f"router:{zone.secrets['token']}".encode()).decode()
        with urlopen(Request(url, headers={"Authorization": f"Basic {password}"}), timeout=10) as reply:
            return str(reply.read().decode().strip())

    assert asks("myip=192.0.2.7&myipv6=2001:db8:1::7") == "good 192.0.2.7,2001:db8:1::7"
    assert asks("myip=preserve&myipv6=2001:db8:2::/48") == "good 2001:db8:2::7"
    zone.answers("home", "AAAA", rdata=("2001:db8:2::7",))
    zone.answers("home", rdata=("192.0.2.7",))
