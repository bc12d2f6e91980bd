"""Third-party validators find no bogus answer in zones that dnspanel wrote, and do find broken zones."""

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState
from replication.codec.dnssec import KeyObject, MetadataObject, Nsec3
from replication.compile import compile_zone
from tests.faults import clocks
from tests.oracle import lmdb_file
from tests.oracle.corpus import APEX, rrsets_of, zone_texts
from tests.oracle.powerdns import PowerDNS, Unavailable, native
from tests.unbound import Reply, unbound

pytestmark = pytest.mark.sample(1, reason="releases of PowerDNS whose signed answers others validate")

MODES: dict[str, Nsec3 | None] = {
    "nsec.test.": None,
    "nsec3.test.": Nsec3(),
    "salted.test.": Nsec3(iterations=2, salt=bytes.fromhex("abcd")),
    "optout.test.": Nsec3(opt_out=True),
    "narrow.test.": Nsec3(narrow=True),
}
TOOLS = {"dnssec-verify": ["dnssec-verify", "-z", "-o"], "ldns-verify-zone": ["ldns-verify-zone"]}
# delv's statuses for the parts of an answer. A status is printed where it differs from the one before.
VALIDATED, NEGATIVE, UNSIGNED = "fully validated", "negative response, fully validated", "unsigned answer"
UNTRUSTED = "authoritative"  # without a trust anchor above
GROK = Path(__file__).resolve().parents[1] / "alone" / "grok.py"
STATUS = re.compile(rf"^; ({VALIDATED}|{NEGATIVE}|{UNSIGNED}|{UNTRUSTED})$", re.MULTILINE)
# With opt-out, no proof excludes an unsigned delegation in place of the wildcard (RFC 5155 section 9.2).
OF_WILDCARDS = {
    "x.w": [UNSIGNED],
    "x.y.w": [UNSIGNED],
    "any": [UNSIGNED],
    "a.cname": [UNSIGNED],
    "x.w.alias": [UNSIGNED],
    "x.cw.alias": [UNSIGNED, VALIDATED],
    "to-wild.alias": [VALIDATED, UNSIGNED],
    "to-wild-alias.alias": [VALIDATED, UNSIGNED, VALIDATED],
}

DNSVIZ_WARNS: Mapping[str, tuple[str, ...]] = {}
# Resolvers never call answers authentic that an opt-out NSEC3 covers (RFC 5155 section 9.2).
COVERED = {
    "insecure",
    "a.registry",
    "x.here.w",
    "no.b.half",
    "nothing.alias",
    "to-nothing.alias",
    "far-to-nothing.alias",
}
# For the zone with delegations and its signed child with aliases: the question, and True if there is an answer, even an
# alias without target.
QUESTIONS = [
    ("", "SOA", True),
    ("", "DNSKEY", True),
    ("ns1", "A", True),
    ("b.half", "A", True),
    ("x.w", "A", True),  # from a wildcard
    ("x.y.w", "MX", True),
    ("any", "TXT", True),
    ("a.cname", "CNAME", True),
    ("c.d.e", "TXT", True),
    ("secure", "DS", True),
    ("lonely-ds", "DS", True),
    ("insecure", "DS", False),
    ("a.registry", "DS", False),
    ("ns1", "MX", False),
    ("here.w", "A", False),
    ("half", "A", False),  # an empty non-terminal
    ("b.c.d.e", "TXT", False),
    ("x.here.w", "A", False),
    ("no.b.half", "A", False),
    ("alias", "DS", True),
    ("alias", "SOA", True),
    ("alias", "DNSKEY", True),
    ("one.alias", "CNAME", True),
    ("one.alias", "A", True),
    ("one.alias", "AAAA", True),
    ("one.alias", "MX", True),
    ("x.w.alias", "A", True),
    ("x.cw.alias", "A", True),
    ("to-wild.alias", "A", True),
    ("to-wild-alias.alias", "A", True),
    ("to-nothing.alias", "A", True),
    ("far-to-nothing.alias", "A", True),
    ("to-ent.alias", "A", True),
    ("above.alias", "A", True),  # to the parent zone
    ("far-above.alias", "A", True),
    ("below", "A", True),  # from the parent into the child
    ("below", "MX", True),
    ("nothing.alias", "A", False),
    ("www.alias", "MX", False),
]
# Aliases into an unsigned zone on the same server, without a trust anchor.
OUTSIDE, OUT = "other.test.", ("out.alias", "far-out.alias")


@dataclass(frozen=True)
class Served:
    """A pdns_server with a zone and a child zone for each mode: its port, and each zone's DNSKEY rdata."""

    port: int
    dnskeys: dict[str, str]

    def transfer(self, zone: str) -> str:
        """Transfer the zone, and return it as a zone file."""
        command = ["dig", "@127.0.0.1", "-p", str(self.port), zone, "AXFR", "+noall", "+answer", "+onesoa"]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout


def text_for(zone: str) -> str:
    """Return the zone with all kinds of delegations except at a wildcard, which BIND refuses to load.

    A DS and a delegation below another one are left out too: PowerDNS signs or denies them as if they were not occluded
    (`test_signed`).
    """
    lines = zone_texts()["cuts.test."].replace("cuts.test.", zone).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("*.sub ", "only-ds.insecure ", "again.under.mixed ")))


def child_of(zone: str) -> str:
    return f"alias.{zone}"


def text_for_child(zone: str) -> str:
    """Return the child zone with aliases. Some point into the parent zone."""
    return zone_texts()["alias.test."].replace("alias.test.", child_of(zone)).replace("cuts.test.", zone)


def delegation_of_child(zone: str, ds: str) -> str:
    """Return the parent zone's lines about the child: a delegation, and an alias into the child."""
    lines = [f"alias 3600 IN NS ns1.{child_of(zone)}", "ns1.alias 3600 IN A 192.0.2.70"]
    lines += [f"alias 3600 IN DS {ds}", f"below 3600 IN CNAME one.{child_of(zone)}"]
    return "\n".join(lines) + "\n"


TRANSFERRED = [name for zone in MODES if zone != "narrow.test." for name in (zone, child_of(zone))]  # not narrow ones


@pytest.fixture(scope="module")
def served(installation: PowerDNS) -> Iterator[Served]:
    with serve(installation) as running:
        yield running


@contextmanager
def serve(
    installation: PowerDNS, environment: Mapping[str, str] | None = None, *, ds_fits: bool = True
) -> Iterator[Served]:
    """Start a pdns_server with files that dnspanel's encoder wrote. `environment` can give it another clock."""
    pairs = {name: key_material.generate(13) for zone in MODES for name in (zone, child_of(zone))}
    texts = {OUTSIDE: "\n".join([*APEX, "ns1 3600 IN A 192.0.2.80"])}
    for zone in MODES:
        ds = key_material.ds_text(child_of(zone), 257, 13, pairs[child_of(zone) if ds_fits else zone].public)
        texts |= {zone: text_for(zone) + delegation_of_child(zone, ds), child_of(zone): text_for_child(zone)}
    compiled, signing, dnskeys = {}, [], {}
    for zone_id, (zone, text) in enumerate(texts.items(), 1):
        nsec3 = MODES.get(zone.removeprefix("alias."))
        compiled[zone] = (zone_id, compile_zone(zone, rrsets_of(zone, text), nsec3=nsec3))
        if zone == OUTSIDE:
            continue
        state = SigningState((KeyState(zone_id, 13, 257),), nsec3)
        signing += [MetadataObject(zone, kind, value) for kind, value in state.metadata.items()]
        signing.append(KeyObject(zone, pairs[zone].private_text, 257, active=True, published=True))
        dnskeys[zone] = key_material.dnskey_text(257, 13, pairs[zone].public)
    with installation.place("validated") as place:
        lmdb_file.write(place.database, installation.schema, compiled, signing)
        with place.server(environment) as port:
            yield Served(port, dnskeys)


def verified(tool: str, zone: str, text: str, folder: Path) -> tuple[bool, str]:
    """Return True if the tool accepts the signed zone, and the tool's output."""
    path = folder / "zone"
    path.write_text(text)
    command = [*TOOLS[tool], *([zone] if tool == "dnssec-verify" else []), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def delved(served: Served, zone: str, name: str, kind: str, dnskey: str, folder: Path) -> list[str]:
    """Return delv's verdicts on an answer, with this key as trust anchor, or an empty list if the answer is bogus."""
    flags, protocol, algorithm, key = dnskey.split()
    anchor = folder / "anchor"
    anchor.write_text(f'trust-anchors {{ "{zone}" static-key {flags} {protocol} {algorithm} "{key}"; }};\n')
    command = ["delv", "@127.0.0.1", "-p", str(served.port), "-a", str(anchor), f"+root={zone}", name, kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return STATUS.findall(done.stdout)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("zone", TRANSFERRED)
def test_what_is_transferred_is_signed_rightly(served: Served, zone: str, tool: str, tmp_path: Path) -> None:
    text = served.transfer(zone)
    assert text.count("RRSIG") > 30
    is_right, told = verified(tool, zone, text, tmp_path)
    assert is_right, told


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("zone", ["nsec.test.", "nsec3.test."])
def test_the_tools_find_what_is_broken(served: Served, zone: str, tool: str, tmp_path: Path) -> None:
    lines = served.transfer(zone).splitlines(keepends=True)
    denial = "NSEC3" if zone == "nsec3.test." else "NSEC"
    link = next(line for line in lines if line.split()[3] == denial and not line.startswith(zone))
    without_link = [line for line in lines if line is not link and not _signs(line, link)]
    signature = next(line for line in lines if line.startswith("b.half.") and line.split()[3:5] == ["RRSIG", "A"])
    other = next(line for line in lines if line.startswith("ns1.") and line.split()[3:5] == ["RRSIG", "A"])
    forged = re.sub(r"\S+( \S+)?$", " ".join(other.split()[12:]), signature.rstrip()) + "\n"
    exchanged = [forged if line is signature else line for line in lines]
    for broken in (without_link, exchanged):
        assert broken != lines
        is_right, told = verified(tool, zone, "".join(broken), tmp_path)
        assert not is_right, told


def _signs(line: str, link: str) -> bool:
    words, of = line.split(), link.split()
    return words[0] == of[0] and words[3] == "RRSIG" and words[4] == of[3]


@pytest.mark.parametrize("zone", MODES)
def test_every_answer_validates_from_our_trust_anchor(served: Served, zone: str, tmp_path: Path) -> None:
    found = {
        (label, kind): delved(served, zone, f"{label}.{zone}".lstrip("."), kind, served.dnskeys[zone], tmp_path)
        for label, kind, _ in QUESTIONS
    }
    expected = {(label, kind): [VALIDATED if exists else NEGATIVE] for label, kind, exists in QUESTIONS}
    if zone == "optout.test.":
        expected |= {key: OF_WILDCARDS[key[0]] for key in expected if key[0] in OF_WILDCARDS}
    assert found == expected
    for label in OUT:
        told = delved(served, zone, f"{label}.{zone}", "A", served.dnskeys[zone], tmp_path)
        assert told == [VALIDATED, UNTRUSTED]


@dataclass(frozen=True)
class Diagnosis:
    """DNSViz's result for a zone: its verdict, the verdicts of all parts, and all errors and warnings."""

    verdict: str
    verdicts: frozenset[str]
    faults: tuple[str, ...]


def probed(served: Served, folder: Path) -> dict[str, Path]:
    """Let DNSViz query each zone's apex, a nonexistent name and nonexistent types. Return its files by zone.

    The zones run in parallel, because DNSViz waits half a minute per zone for nonexistent name server addresses.
    """
    files, running = {zone: folder / zone for zone in MODES}, []
    for zone, file in files.items():
        name = zone.rstrip(".")
        servers = f"{name}+:ns1.{name}=127.0.0.1:{served.port}"
        probe = ["dnsviz", "probe", "-A", "-a", zone, "-x", servers, "-o", str(file), name]
        running.append(subprocess.Popen(probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    assert [each.wait(120) for each in running] == [0] * len(running)
    return files


def diagnosed(answers: Path, zone: str, dnskey: str) -> Diagnosis:
    """Return DNSViz's judgment of these answers, from this trust anchor."""
    anchor = answers.with_name("anchor")
    anchor.write_text(f"{zone} 3600 IN DNSKEY {dnskey}\n")
    grok = ["/usr/bin/python3", str(GROK), "-r", str(answers), "-t", str(anchor), "-l", "info", zone.rstrip(".")]
    done = subprocess.run(grok, capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    verdicts, faults = set[str](), list[str]()
    for path, value in _leaves(found):
        if path[-1] == "status":
            verdicts.add(str(value))
        if path[-1] == "description" and {"errors", "warnings"} & {*path}:
            faults.append(f"{'/'.join(map(str, path[:-1]))}: {value}")
    return Diagnosis(str(found[zone]["zone"]["status"]), frozenset(verdicts), tuple(faults))


def _leaves(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], object]]:
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, (*path, key))
    else:
        yield path, value


@pytest.mark.full(reason="DNSViz waits half a minute for name servers that are not there")
def test_dnsviz_finds_everything_secure(tmp_path: Path) -> None:
    other = key_material.dnskey_text(257, 13, key_material.generate(13).public)
    with serve(native()) as served:
        for zone, answers in probed(served, tmp_path).items():
            found = diagnosed(answers, zone, served.dnskeys[zone])
            assert (zone, found.verdict, found.faults) == (zone, "SECURE", DNSVIZ_WARNS.get(zone, ()))
            # An opt-out NSEC3 does not prove a name that it covers (RFC 5155 section 9.2).
            unproved = {"INSECURE"} if zone == "optout.test." else set()
            assert found.verdicts - unproved <= {"SECURE", "VALID", "NOERROR", "NXDOMAIN"}, zone
            assert diagnosed(answers, zone, other).verdict == "INSECURE"  # no chain of trust leads to its keys


def test_a_resolver_that_validates_finds_everything_secure(served: Served) -> None:
    anchors = [f"{zone} DNSKEY {served.dnskeys[zone]}" for zone in MODES]
    with unbound({zone: [served.port] for zone in [*served.dnskeys, OUTSIDE]}, anchors) as resolver:
        for zone in MODES:
            found = {(label, kind): resolver.ask(f"{label}.{zone}".lstrip("."), kind) for label, kind, _ in QUESTIONS}
            insecure = OF_WILDCARDS.keys() | COVERED if zone == "optout.test." else set()
            assert {label for (label, _), reply in found.items() if not reply.is_secure} == insecure
            assert {reply.rcode for reply in found.values()} <= {"NOERROR", "NXDOMAIN"}
            assert {resolver.ask(f"{label}.{zone}", "A") for label in OUT} == {Reply("NOERROR", is_secure=False)}
        assert resolver.bogus == []


def test_a_ds_that_does_not_fit_makes_everything_below_it_bogus(installation: PowerDNS, tmp_path: Path) -> None:
    with serve(installation, ds_fits=False) as other:
        anchors = [f"{zone} DNSKEY {other.dnskeys[zone]}" for zone in MODES]
        with unbound({zone: [other.port] for zone in other.dnskeys}, anchors) as resolver:
            for zone in MODES:
                assert resolver.ask(f"ns1.{zone}", "A") == Reply("NOERROR", is_secure=True)
                assert resolver.ask(f"below.{zone}", "A").rcode == "SERVFAIL"
                name = f"one.{child_of(zone)}"
                assert resolver.ask(name, "A").rcode == "SERVFAIL"
                assert delved(other, zone, name, "A", other.dnskeys[zone], tmp_path) == []


def test_a_resolver_with_another_trust_anchor_finds_everything_bogus(served: Served) -> None:
    other = key_material.dnskey_text(257, 13, key_material.generate(13).public)
    with unbound({zone: [served.port] for zone in MODES}, [f"{zone} DNSKEY {other}" for zone in MODES]) as resolver:
        for zone in MODES:
            assert resolver.ask(f"ns1.{zone}", "A").rcode == "SERVFAIL"
        assert len(resolver.bogus) >= len(MODES)


def test_answers_do_not_validate_from_another_trust_anchor(served: Served, tmp_path: Path) -> None:
    other = key_material.dnskey_text(257, 13, key_material.generate(13).public)
    for zone in MODES:
        assert delved(served, zone, f"ns1.{zone}", "A", other, tmp_path) == []


def test_signatures_follow_the_clock_while_nobody_publishes(tmp_path: Path) -> None:
    try:
        powerdns = native()
    except Unavailable as exc:
        pytest.skip(str(exc))
    clock, began = tmp_path / "clock", datetime.now(UTC)
    clocks.set_clock(clock, 0)
    with serve(powerdns, clocks.settable(clock)) as server:
        judged = ("nsec.test.", "nsec3.test.", "narrow.test.")
        zones = {name: [server.port] for zone in judged for name in (zone, child_of(zone))}
        anchors = [f"{zone} DNSKEY {server.dnskeys[zone]}" for zone in judged]
        for weeks in (0, 1, 4, 26):
            after = timedelta(weeks=weeks)
            if weeks > 3:  # further than signatures last: last week's have expired
                with unbound(zones, anchors, at=began + after + timedelta(weeks=3)) as resolver:
                    assert resolver.ask("nsec.test.", "SOA").rcode == "SERVFAIL"
            clocks.set_clock(clock, int(after.total_seconds()))
            time.sleep(1.5)  # until the server has read the file, see `clocks`
            with unbound(zones, anchors, at=datetime.now(UTC) + after) as resolver:
                for zone in judged:
                    for label, kind, _ in QUESTIONS:
                        reply = resolver.ask(f"{label}.{zone}".lstrip("."), kind)
                        assert reply.is_secure, (weeks, zone, label, kind, resolver.bogus)
