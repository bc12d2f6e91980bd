"""Zone transfers from real servers, and from servers that violate the protocol.

Tests `over_dns.transfer_tsig`, `over_dns.ixfr_in` and `over_dns.transfer_faults` too.
"""

import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import dns.message
import dns.rrset
import pytest

from dnspanel.transfer.documents import Document, Item, Kept, SourceFault
from dnspanel.transfer.errors import SourceAway, SourceRefused
from dnspanel.transfer.models import KeptKind
from dnspanel.transfer.sources.over_dns.axfr_in import MOST_SILENT, AxfrSource
from dnspanel.transfer.sources.over_dns.transfer_tsig import TsigKey
from replication.dns.rrset import RRset
from tests.dnspanel.transfer.databases import sqlite_estate as sqlite_estate
from tests.dnspanel.transfer.powerdns_estate import EXTRA_ZONE, TSIG_SECRET, expected, read, texts
from tests.dnspanel.transfer.running import PowerDNS, listening, needed, running
from tests.oracle.corpus import rrsets_of
from tests.ports import free_port

# PowerDNS sets the TTL of these types itself or leaves them out, because they belong to DNSSEC.
DNSKEY, CDS, CDNSKEY = 48, 59, 60
KEY = TsigKey("transfer", "hmac-sha256", TSIG_SECRET)
SOA = "3600 IN SOA ns1.other.test. hostmaster.other.test. 7 10800 3600 604800 3600"


def without_keys(rrsets: dict[str, set[RRset]]) -> dict[str, set[RRset]]:
    return {
        zone: {rrset for rrset in found if rrset.type not in (DNSKEY, CDS, CDNSKEY)} for zone, found in rrsets.items()
    }


def test_zones_of_a_powerdns_are_complete(sqlite_estate: PowerDNS) -> None:
    with sqlite_estate.server(**{"allow-axfr-ips": "127.0.0.0/8"}) as port:
        source = AxfrSource("127.0.0.1", port, list(texts()))
        found = read(source.items())
    assert found.faults == []
    assert list(found.documents) == sorted(texts())
    assert without_keys(found.rrsets()) == without_keys(expected())
    assert source.done == source.total == len(texts())


@contextmanager
def named(
    directory: Path,
    zones: dict[str, str],
    options: dict[str, str] | None = None,
    *,
    include: str = "",
    own_options: str = "",
) -> Iterator[int]:
    """Run BIND with these zones, and yield its port.

    `options` adds lines to a zone's clause, `own_options` to the server's options, and `include` another file.
    """
    needed("named")
    port = free_port()
    conf = [
        f'options {{ directory "{directory}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};'
        f' pid-file "{directory}/named.pid"; session-keyfile "{directory}/session.key"; recursion no; notify no;'
        f" dnssec-validation no; allow-transfer {{ any; }}; max-records-per-type 0; {own_options} }};",
        "controls { };",
        f'key transfer {{ algorithm hmac-sha256; secret "{TSIG_SECRET}"; }};',
    ]
    for number, (zone, text) in enumerate(zones.items()):
        (directory / f"zone{number}").write_text(text)
        own = (options or {}).get(zone, "")
        conf.append(f'zone "{zone}" {{ type primary; file "zone{number}"; check-names ignore; {own} }};')
    if include:
        conf.insert(1, f'include "{directory}/{include}";')
    (directory / "named.conf").write_text("\n".join(conf))
    command = ["named", "-g", "-n", "1", "-c", str(directory / "named.conf")]
    with running(command, directory / "named.log", listening(port)):
        yield port


def bind_texts() -> dict[str, str]:
    """Return the zone texts without records that named refuses: PowerDNS types, NS at wildcards or without address."""
    address = "ns1 300 IN A 192.0.2.53\n"
    return {
        zone: "\n".join(line for line in text.splitlines() if not re.match(r"\*\S* \d+ IN NS ", line))
        + f"\n{address if zone == 'bytes.test.' else ''}"
        for zone, text in texts().items()
        if zone != "types.test."
    }


def test_zones_of_a_bind_are_complete_with_signatures(tmp_path: Path) -> None:
    zones = bind_texts()
    signed = dict.fromkeys(zones, "allow-transfer { key transfer; };")
    with named(tmp_path, zones, signed) as port:
        found = read(AxfrSource("127.0.0.1", port, zones, tsig=KEY).items())
    assert found.faults == []
    assert found.rrsets() == {zone: set(rrsets_of(zone, text)) for zone, text in zones.items()}
    # This zone needs many messages.
    assert len(found.documents["large.test."].text) > 200_000


def zone_text(*lines: str) -> str:
    return "\n".join((f"@ {SOA}", "@ 3600 IN NS ns1.other.test.", *lines, ""))


def faults(items: Iterator[Item]) -> dict[str, str]:
    return {item.zone: item.code for item in items if isinstance(item, SourceFault)}


def test_a_zone_that_is_refused_stops_no_other_and_has_a_reason(tmp_path: Path) -> None:
    zones = {"a.test.": zone_text(), "closed.test.": zone_text(), "z.test.": zone_text()}
    with named(tmp_path, zones, {"closed.test.": "allow-transfer { none; };"}) as port:
        items = list(AxfrSource("localhost", port, ["Z.test", "closed.test", "missing.test", "a.test"]).items())
    assert [type(item) for item in items] == [Document, SourceFault, SourceFault, Document]
    reasons = {item.zone: item.reason for item in items if isinstance(item, SourceFault)}
    assert "REFUSED" in reasons["closed.test."]
    assert "NOTAUTH" in reasons["missing.test."]


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (TsigKey("other", "hmac-sha256", TSIG_SECRET), "BADKEY"),
        (TsigKey("transfer", "hmac-sha512", TSIG_SECRET), "BADKEY"),
        (TsigKey("transfer", "hmac-sha256", "d3Jvbmc="), "BADSIG"),
        (None, "REFUSED"),
    ],
)
def test_a_wrong_key_is_explained(tmp_path: Path, key: TsigKey | None, reason: str) -> None:
    with named(tmp_path, {"a.test.": zone_text()}, {"a.test.": "allow-transfer { key transfer; };"}) as port:
        (item,) = AxfrSource("127.0.0.1", port, ["a.test"], tsig=key).items()
    assert isinstance(item, SourceFault)
    assert reason in item.reason
    assert TSIG_SECRET not in item.reason


CATALOG = [
    "version 0 IN TXT 2",
    "one.zones 0 IN PTR a.test.",
    'group.one.zones 0 IN TXT "gold"',
    "two.zones 0 IN PTR b.test.",
    "three.zones 0 IN PTR missing.test.",
]


def test_the_members_of_a_catalog_zone_are_transferred(tmp_path: Path) -> None:
    zones = {"a.test.": zone_text(), "b.test.": zone_text(), "cat.test.": zone_text(*CATALOG)}
    with named(tmp_path, zones) as port:
        source = AxfrSource("127.0.0.1", port, ["b.test."], catalog="cat.test")
        items = list(source.items())
        assert [list(source.items(skip)) for skip in range(6)] == [items[skip:] for skip in range(6)]
    assert [(type(item), item.zone) for item in items] == [
        (Kept, "a.test."),
        (Document, "a.test."),
        (Document, "b.test."),
        (SourceFault, "missing.test."),
    ]
    assert items[0] == Kept("a.test.", KeptKind.METADATA, "group", b"gold")


def test_a_catalog_that_is_none_is_refused(tmp_path: Path) -> None:
    with named(tmp_path, {"a.test.": zone_text()}) as port:
        with pytest.raises(SourceRefused, match="no version"):
            list(AxfrSource("127.0.0.1", port, catalog="a.test").items())
        with pytest.raises(SourceRefused, match="NOTAUTH"):
            list(AxfrSource("127.0.0.1", port, catalog="missing.test").items())


def test_a_server_that_does_not_answer_is_away() -> None:
    with pytest.raises(SourceAway, match="Connection refused"):
        list(AxfrSource("127.0.0.1", free_port(), ["a.test"]).items())
    with pytest.raises(SourceAway, match="couldn’t be resolved"):
        list(AxfrSource("no-such-host.invalid", 53, ["a.test"]).items())


def test_what_is_no_name_or_key_is_refused_before_any_query() -> None:
    with pytest.raises(SourceRefused, match="isn’t a valid domain name"):
        AxfrSource("127.0.0.1", 53, ["a..test"])
    with pytest.raises(SourceRefused, match="isn’t valid Base64"):
        AxfrSource("127.0.0.1", 53, ["a.test"], tsig=TsigKey("k", "hmac-sha256", "?"))
    with pytest.raises(SourceRefused, match="isn’t a supported TSIG algorithm"):
        AxfrSource("127.0.0.1", 53, ["a.test"], tsig=TsigKey("k", "hmac-none", "abcd"))
    assert "abcd" not in repr(TsigKey("k", "hmac-sha256", "abcd"))


Answers = Callable[[dns.message.Message], list[bytes]]


@contextmanager
def server(answers: Answers) -> Iterator[tuple[int, list[int]]]:
    """Run a server that sends the messages of `answers`, then closes. Yield its port and a list of its connections."""
    connections: list[int] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connections.append(len(connections))
                    size = struct.unpack("!H", connection.recv(2))[0]
                    for wire in answers(dns.message.from_wire(connection.recv(size), keyring=False)):
                        connection.sendall(struct.pack("!H", len(wire)) + wire)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], connections
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def answer(query: dns.message.Message, *lines: str) -> bytes:
    """Return a response in wire format with these records in this order, each as a separate RRset."""
    response = dns.message.make_response(query)
    response.answer = [dns.rrset.from_text(*line.split(None, 4)[:2], *line.split(None, 4)[2:]) for line in lines]
    return response.to_wire()


def test_a_transfer_that_breaks_is_begun_again_once() -> None:
    def breaking(query: dns.message.Message) -> list[bytes]:
        begin = answer(query, f"a.test. {SOA}", "a.test. 300 IN NS ns1.other.test.")
        return [begin] if len(connections) == 1 else [begin, answer(query, f"a.test. {SOA}")]

    with server(breaking) as (port, connections):
        (item,) = AxfrSource("127.0.0.1", port, ["a.test"], timeout=5).items()
        assert isinstance(item, Document)
        assert len(item.text.splitlines()) == 2
        assert len(connections) == 2


def test_a_transfer_that_is_never_complete_is_a_fault() -> None:
    with server(lambda query: [answer(query, f"a.test. {SOA}")]) as (port, connections):
        (item,) = AxfrSource("127.0.0.1", port, ["a.test"], timeout=5).items()
        assert isinstance(item, SourceFault)
        assert item.code == "transfer-broken"
        assert "before the end of the zone" in item.reason
        assert len(connections) == 2


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["a.test. 300 IN NS ns1.other.test.", f"a.test. {SOA}"], "doesn’t start with the zone’s SOA"),
        ([f"b.test. {SOA}", f"b.test. {SOA}"], "doesn’t start with the zone’s SOA"),
        ([f"a.test. {SOA}", f"a.test. {SOA}", "a.test. 300 IN NS ns1.other.test."], "records follow the end"),
        ([f"a.test. {SOA}", f"a.test. {SOA}".replace(" 7 ", " 8 ")], "changed while it was being transferred"),
        ([], "doesn’t start with the zone’s SOA"),
    ],
)
def test_a_transfer_that_is_not_one_is_told(lines: list[str], reason: str) -> None:
    with server(lambda query: [answer(query, *lines)]) as (port, _):
        (item,) = AxfrSource("127.0.0.1", port, ["a.test"], timeout=5).items()
    assert isinstance(item, SourceFault)
    assert reason in item.reason


def test_bytes_that_are_no_message_are_told() -> None:
    with server(lambda query: [b"nonsense"]) as (port, _):
        (item,) = AxfrSource("127.0.0.1", port, ["a.test"], timeout=5).items()
    assert isinstance(item, SourceFault)
    assert "didn’t send a DNS message" in item.reason


def test_an_invalid_record_is_a_fault_of_its_zone_only() -> None:
    def answers(query: dns.message.Message) -> list[bytes]:
        zone = query.question[0].name.to_text()
        wire = answer(query, f"{zone} {SOA}", f"{zone} 300 IN NS broken.other.test.", f"{zone} {SOA}")
        return [wire.replace(b"\x06broken", b"\x3fbroken") if zone == "a.test." else wire]

    with server(answers) as (port, _):
        bad, good = AxfrSource("127.0.0.1", port, ["a.test", "b.test"], timeout=5).items()
        with pytest.raises(SourceRefused, match=r"the catalog zone a\.test\. couldn’t be read"):
            list(AxfrSource("127.0.0.1", port, catalog="a.test", timeout=5).items())
    assert isinstance(bad, SourceFault)
    assert (bad.zone, bad.code) == ("a.test.", "transfer-incomplete")
    assert isinstance(good, Document)


def test_a_silent_server_is_not_waited_for_long() -> None:
    done = threading.Event()

    def silent(query: dns.message.Message) -> list[bytes]:
        done.wait(10)
        return []

    with server(silent) as (port, _):
        (item,) = AxfrSource("127.0.0.1", port, ["a.test"], timeout=0.3).items()
        done.set()
    assert isinstance(item, SourceFault)
    assert item.code == "transfer-timeout"


def test_an_answer_that_should_be_signed_and_is_not_is_refused() -> None:
    complete = [f"a.test. {SOA}", "a.test. 300 IN NS ns1.other.test.", f"a.test. {SOA}"]
    with server(lambda query: [answer(query, *complete)]) as (port, _):
        (item,) = AxfrSource("127.0.0.1", port, ["a.test"], tsig=KEY, timeout=5).items()
    assert isinstance(item, SourceFault)
    assert item.code == "tsig"
    assert "didn’t sign" in item.reason


def test_extra_zone_has_its_records_in_order_of_the_server(sqlite_estate: PowerDNS) -> None:
    with sqlite_estate.server(**{"allow-axfr-ips": "127.0.0.0/8"}) as port:
        (item,) = AxfrSource("127.0.0.1", port, [EXTRA_ZONE]).items()
    assert isinstance(item, Document)
    first = item.text.split(b"\n")[0]
    assert first == b"extra.test. 3600 IN SOA ns1.other.test. hostmaster.other.test. 7 10800 3600 604800 3600"
    assert item.text.count(b" SOA ") == 1
    assert b"off.extra.test." not in item.text


# Previously each zone of a list had a timeout of half a minute, so ten thousand zones took a worker's day.
def test_a_server_that_gives_none_of_several_zones_is_not_asked_for_all_the_others() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(20)
        zones = [f"z{number}.test." for number in range(100)]
        source = AxfrSource("127.0.0.1", server.getsockname()[1], zones, timeout=0.05)
        found = []
        with pytest.raises(SourceAway, match=f"didn’t send any of {MOST_SILENT} zones"):
            found.extend(source.items())
        assert source.done < MOST_SILENT
