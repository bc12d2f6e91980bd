"""API v1 answers like the real server's API to the same calls in the same order."""

import json
import re
import socket
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, Protocol

import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.update
import pytest
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.catalogs.tasks import follow_producers
from dnspanel.gateway.answers import answers as gateway_answers
from tests.dnspanel.api.v1.calls import caller
from tests.oracle.api_corpus import ZONES, corpus, new, patch, rrset
from tests.oracle.api_server import Answer, Call, TheirApi, their_api
from tests.oracle.powerdns import Unavailable
from tests.people import alice, bob

__all__ = ["alice", "bob"]
NAMESERVER, HOSTMASTER = "ns1.x.test.", "hostmaster.x.test."
SOA = f"{NAMESERVER} {HOSTMASTER} 0 10800 3600 604800 3600"
# Each server counts SOA serials in its own way.
SERIALS = {"serial", "edited_serial", "notified_serial"}
IN_TRASH = re.compile(r"The zone \S+ was moved to the trash on [-:\d ]+ UTC and can be restored until [-:\d ]+ UTC\.")

Answers = list[tuple[Call, Answer, Answer]]


class AskDns(Protocol):
    """Sends a DNS message and returns the first message of the answer."""

    def __call__(self, wire: bytes, *, over_tcp: bool) -> bytes: ...


@pytest.fixture
def theirs() -> Iterator[TheirApi]:
    try:
        with their_api(**{"default-soa-content": SOA}) as api:
            yield api
    except Unavailable as exc:
        pytest.skip(str(exc))


@pytest.fixture
def answers(theirs: TheirApi, bob: User, settings: Any) -> Answers:
    """Return all calls with the real server's answer and the panel's."""
    settings.API_REQUESTS_PER_MINUTE = 1_000_000
    settings.DEFAULT_NAMESERVERS, settings.DEFAULT_HOSTMASTER = [NAMESERVER], HOSTMASTER
    key = caller(bob, permissions=[Permission.FLEET, Permission.SECRETS]).key
    return [(call, theirs(call), ours(call, key)) for call in corpus()]


@pytest.mark.django_db
def test_every_call_is_answered_alike_or_the_difference_is_listed(answers: Answers) -> None:
    assert len(answers) > 1000
    different = [(call, one, other) for call, one, other in answers if told(call, one) != told(call, other)]
    unexplained = [f"{c}\n  theirs: {one}\n  ours: {other}" for c, one, other in different if not c.differs]
    assert not unexplained, "\n".join(unexplained)
    # Declared differences that no longer exist must be removed.
    alike = [str(call) for call, one, other in answers if call.differs and told(call, one) == told(call, other)]
    assert not alike, "\n".join(alike)
    assert [str(call) for call, _, other in answers if other.status >= 500] == []
    # Otherwise two servers that refuse everything would pass, too.
    assert {200, 201, 204, 400, 401, 404, 405, 409, 422} <= {other.status for _, _, other in answers}


@pytest.mark.django_db
def test_serials_begin_and_move_as_theirs(theirs: TheirApi, bob: User) -> None:
    """The panel uses one serial for DNS and the API. The real server's API has the served one as `edited_serial`."""
    key = caller(bob).key
    for number, settings in enumerate(SERIAL_SETTINGS):
        zone = f"s{number}.test."
        found = []
        for ask, field in ((theirs, "edited_serial"), (lambda call: ours(call, key), "serial")):
            ask(Call("POST", ZONES, new(zone, **settings)))
            served = [json.loads(ask(Call("GET", f"{ZONES}/{zone}")).body)[field]]
            ask(patch(zone, rrset(f"www.{zone}", "A", "192.0.2.1")))
            served.append(json.loads(ask(Call("GET", f"{ZONES}/{zone}")).body)[field])
            found.append(served)
        # Seconds pass between the two. The panel's serial must grow even if the real server's does not.
        near = [abs(one - other) < 60 for one, other in zip(*found, strict=True)]
        assert all(near), (settings, found)
        assert found[1][0] < found[1][1], (settings, found)


@pytest.mark.django_db(transaction=True)
def test_consumers_are_made_shown_and_changed_as_theirs(theirs: TheirApi, alice: User, settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["192.0.2.0/24"]
    key = caller(alice, permissions=[Permission.FLEET, Permission.NODES]).key
    zone = "catalog.test."
    masters = ["192.0.2.1", "192.0.2.2:5300"]
    calls = [
        Call("POST", f"{ZONES}?rrsets=false", {"name": zone, "kind": "consumer", "masters": masters}),
        Call("POST", ZONES, {"name": zone, "kind": "Consumer", "masters": masters}),
        Call("GET", f"{ZONES}/{zone}?rrsets=false"),
        Call("GET", f"{ZONES}?zone={zone}"),
        Call("PUT", f"{ZONES}/{zone}", {"kind": "Slave"}),
        Call("GET", f"{ZONES}/{zone}?rrsets=false"),
        Call("PUT", f"{ZONES}/{zone}", {"kind": "Consumer", "masters": masters[:1]}),
        Call("GET", f"{ZONES}/{zone}?rrsets=false"),
        Call("PUT", f"{ZONES}/{zone}", {"kind": "Producer"}),
        Call("DELETE", f"{ZONES}/{zone}"),
        Call("GET", f"{ZONES}/{zone}"),
    ]
    different = []
    for call in calls:
        one, other = (consumer_told(ask(call)) for ask in (theirs, lambda call: ours(call, key)))
        if one != other:
            different.append((str(call), one, other))
    # The panel does not convert a transferred zone to a produced catalog.
    found = [(call.partition(" ")[0], one[0], other[0]) for call, one, other in different]
    assert found == [("PUT", 204, 422)], different


@pytest.mark.django_db(transaction=True)
def test_producers_are_made_filled_shown_and_transferred_as_theirs(alice: User) -> None:
    key = caller(alice, permissions=[Permission.FLEET, Permission.NODES]).key

    def transferred_ours(zone: str, keyring: dns.tsig.Key) -> list[dns.message.Message]:
        follow_producers()
        query = dns.message.make_query(zone, "AXFR")
        query.use_tsig(keyring)
        wires = gateway_answers(query.to_wire(), address="192.0.2.53", over_tcp=True, now=timezone.now())
        return [dns.message.from_wire(next(iter(wires)), keyring=keyring, request_mac=query.mac)]

    def transferred_theirs(port: int, zone: str, keyring: dns.tsig.Key) -> list[dns.message.Message]:
        how = {"keyring": {keyring.name: keyring}, "keyname": keyring.name, "keyalgorithm": keyring.algorithm}
        return list(dns.query.xfr("127.0.0.1", zone, port=port, relativize=False, timeout=20, **how))

    try:
        with their_api(primary="yes", **{"default-soa-content": SOA}) as api:
            theirs = sequence_of_producer(api, partial(transferred_theirs, api.dns_port))
    except Unavailable as exc:
        pytest.skip(str(exc))
    found = sequence_of_producer(lambda call: ours(call, key), transferred_ours)
    different = [(what, one, other) for (what, one), (_, other) in zip(theirs, found, strict=True) if one != other]
    assert [what for what, _ in theirs].count("members") == 3
    assert different == [
        ("PUT m1.test. kind", 204, 422),  # a zone cannot become a catalog
        ("PUT producer.test. kind", 204, 422),  # a catalog cannot become a zone
    ]


def sequence_of_producer(
    api: Callable[[Call], Answer], transferred: Callable[[str, dns.tsig.Key], list[dns.message.Message]]
) -> list[tuple[str, Any]]:
    """Return the answers while a catalog is created, filled, emptied and deleted, and its members in transfers."""
    catalog, secret = "producer.test.", b64encode(bytes(range(32))).decode()
    keyring = dns.tsig.Key("k1.keys.test.", secret, "hmac-sha256.")
    found: list[tuple[str, Any]] = []

    def call(method: str, zone: str, body: Any = None) -> None:
        path = ZONES if method == "POST" else f"{ZONES}/{zone}"
        answer = api(Call(method, path, body))
        what = f"{method} {zone}" + (" kind" if method == "PUT" and "kind" in body else "")
        found.append((what, consumer_told(answer) if method in {"GET", "POST"} else answer.status))
        if method == "GET" and answer.status == 200:
            rrsets = json.loads(answer.body)["rrsets"]
            found.append(("rrsets", sorted((each["name"], each["type"]) for each in rrsets)))

    def transfer() -> None:
        rrsets = [rrset for message in transferred(catalog, keyring) for rrset in message.answer]
        records = [(rrset.name.to_text(), rrset.rdtype, data.to_text()) for rrset in rrsets for data in rrset]
        named = [(name, text) for name, type_, text in records if type_ == dns.rdatatype.PTR]
        assert all(name.endswith(f".zones.{catalog}") for name, _ in named)
        version = [(name, text) for name, type_, text in records if type_ == dns.rdatatype.TXT]
        found.append(("members", (sorted(text for _, text in named), version)))

    call("POST", catalog, new(catalog, kind="Producer"))
    api(Call("POST", "/tsigkeys", {"name": "k1.keys.test", "algorithm": "hmac-sha256", "key": secret}))
    call("PUT", catalog, {"master_tsig_key_ids": ["k1.keys.test."]})
    for name, more in (("m1.test.", {"catalog": catalog}), ("m2.test.", {}), ("m3.test.", {"catalog": catalog})):
        call("POST", name, new(name, kind="Master", **more))
    call("PUT", "m2.test.", {"catalog": catalog})
    for name in (catalog, "m1.test.", "m2.test."):
        call("GET", name)
    transfer()
    call("PUT", "m1.test.", {"catalog": ""})
    call("DELETE", "m3.test.")
    call("GET", "m1.test.")
    transfer()
    call("PUT", "m1.test.", {"catalog": "nowhere.test."})
    call("GET", "m1.test.")
    transfer()
    call("PUT", "m1.test.", {"kind": "Producer"})
    call("PUT", catalog, {"kind": "Native"})
    call("DELETE", catalog)
    call("GET", catalog)
    return found


def consumer_told(answer: Answer) -> tuple[int, list[Any]]:
    """Return an answer's status, and the fields about the zone's kind and primaries."""
    value = json.loads(answer.body) if answer.body and answer.status < 300 else {}
    one = value[0] if isinstance(value, list) else value
    return answer.status, [one.get(name) for name in ("name", "kind", "masters", "catalog", "account")]


@pytest.mark.django_db(transaction=True)
def test_a_tsig_key_may_what_its_zones_say_and_no_more(bob: User) -> None:
    """Compares API statuses and DNS rcodes in one sequence of calls. A key alone gives no access to a zone."""
    key = caller(bob, permissions=[Permission.FLEET]).key

    def ask_ours(wire: bytes, *, over_tcp: bool) -> bytes:
        return next(iter(gateway_answers(wire, address="192.0.2.53", over_tcp=over_tcp, now=timezone.now())))

    try:
        with their_api(dnsupdate="yes", primary="yes") as theirs:
            found = [
                sequence_of_keys(theirs, partial(ask_dns, theirs.dns_port)),
                sequence_of_keys(lambda call: ours(call, key), ask_ours),
            ]
    except Unavailable as exc:
        pytest.skip(str(exc))
    different = {one: (one[1], other[1]) for one, other in zip(*found, strict=True) if one != other}
    assert different == {
        # The panel hides zones from keys without access.
        ("update while the zone names another", "REFUSED"): ("REFUSED", "NOTAUTH"),
        # RFC 8945 5.2.1: an unknown key is NOTAUTH. The real server treats the message as unsigned.
        ("update of a deleted key", "REFUSED"): ("REFUSED", "NOTAUTH"),
    }
    assert {201, 200, 204, "NOERROR", "NOTAUTH"} == {outcome for _, outcome in found[1]}


def sequence_of_keys(api: Callable[[Call], Answer], dns_server: AskDns) -> list[tuple[str, int | str]]:
    """Return statuses and rcodes while a zone names no key, another key and this key, and after the key's deletion."""
    zone, secret = "keys.test.", b64encode(bytes(range(32))).decode()
    keyring = dns.tsig.Key("k1.keys.test.", secret, "hmac-sha256.")
    found: list[tuple[str, int | str]] = []

    def call(method: str, path: str, body: Any = None) -> None:
        found.append((f"{method} {path}", api(Call(method, path, body)).status))

    def send(what: str, message: dns.message.Message, *, over_tcp: bool) -> None:
        message.use_tsig(keyring)
        header = dns_server(message.to_wire(), over_tcp=over_tcp)[:12]
        found.append((what, dns.rcode.to_text(dns.rcode.Rcode(header[3] & 15))))

    def update(when: str) -> None:
        message = dns.update.UpdateMessage(zone)
        message.add(f"h{len(found)}", 60, "A", "192.0.2.1")
        send(f"update {when}", message, over_tcp=False)

    def transfer(when: str) -> None:
        send(f"transfer {when}", dns.message.make_query(zone, "AXFR"), over_tcp=True)

    call("POST", ZONES, new(zone, kind="Master"))
    for name in ("k1", "k2"):
        call("POST", "/tsigkeys", {"name": f"{name}.keys.test", "algorithm": "hmac-sha256", "key": secret})
    transfer("while the zone names none")
    for names, when in ((["k2"], "while the zone names another"), (["k2", "k1"], "of a key that the zone names")):
        values = [f"{name}.keys.test." for name in names]
        call("PUT", f"{ZONES}/{zone}/metadata/TSIG-ALLOW-DNSUPDATE", {"metadata": values})
        update(when)
    call("PUT", f"{ZONES}/{zone}", {"master_tsig_key_ids": ["k1.keys.test."]})
    transfer("of a key that the zone names")
    call("DELETE", "/tsigkeys/k1.keys.test.")
    update("of a deleted key")
    transfer("of a deleted key")
    return found


def ask_dns(port: int, wire: bytes, *, over_tcp: bool) -> bytes:
    """Send a DNS message to a local server, and return the first message of the answer."""
    with closing(socket.socket(type=socket.SOCK_STREAM if over_tcp else socket.SOCK_DGRAM)) as connection:
        connection.settimeout(20)
        connection.connect(("127.0.0.1", port))
        connection.sendall((len(wire).to_bytes(2) if over_tcp else b"") + wire)
        return connection.recv(65_535)[2 if over_tcp else 0 :]


SERIAL_SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"serial": 7},
    {"serial": 2030010101},
    {"soa_edit_api": "INCREASE"},
    {"soa_edit_api": "INCREASE", "serial": 7},
    {"soa_edit_api": "epoch"},
    {"soa_edit_api": "", "serial": 7},
    {"soa_edit_api": "SOA-EDIT", "soa_edit": "EPOCH"},
    {"soa_edit_api": "SOA-EDIT-INCREASE", "soa_edit": "EPOCH"},
    {"soa_edit": "EPOCH"},
    {"soa_edit": "INCEPTION-INCREMENT"},
    {"soa_edit": "INCEPTION-EPOCH", "soa_edit_api": "INCREASE"},
)


def ours(call: Call, key: str) -> Answer:
    headers = {"Accept": call.accept} if call.accept else {}
    if call.key:
        headers["X-API-Key"] = key if call.key == "right" else call.key
    response = Client().generic(call.method, call.url, call.content, content_type="", headers=headers)
    return Answer(response.status_code, response.headers.get("Content-Type", ""), response.content)


def told(call: Call, answer: Answer) -> tuple[int, str, Any]:
    """Return the comparable parts of an answer: status, media type, and the body without server-specific values."""
    media_type = answer.type.partition(";")[0] if answer.body else ""
    if media_type != "application/json":
        return answer.status, media_type, _text(answer.body.decode())
    value = json.loads(answer.body)
    if answer.status == 404 and IN_TRASH.fullmatch(value.get("error", "")):  # PowerDNS has no trash
        value = {"error": "Not Found"}
    if answer.status == 422:  # releases word them differently
        assert list(value) == ["error"]
        return answer.status, media_type, "error"
    rendered = _rendered(value)
    return answer.status, media_type, sorted(rendered, key=str) if isinstance(rendered, list) else rendered


def _rendered(value: Any) -> Any:
    """Return a JSON value without serials, and with RRsets and records sorted."""
    if isinstance(value, list):
        return [_rendered(item) for item in value]
    if not isinstance(value, dict):
        return _text(value) if isinstance(value, str) else value
    # The panel adds a warning to settings without effect.
    rendered = {key: _rendered(item) for key, item in value.items() if key not in SERIALS | {"warning"}}
    return {key: sorted(item, key=str) if key in {"rrsets", "records"} else item for key, item in rendered.items()}


def _text(text: str) -> str:
    """Return a text without SOA serials, and with a uniform doctype."""
    lines = []
    for line in text.replace("<!doctype html>", "<!html>").split("\n"):
        fields = line.split(" ")
        # ... IN SOA mname rname serial refresh retry expire minimum
        lines.append(
            " ".join([*fields[:2], "serial", *fields[3:]]) if len(fields) == 7 and fields[2].isdigit() else line
        )
    return "\n".join(lines)
