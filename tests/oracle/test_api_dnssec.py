"""DNSSEC in API v1 compared with the real server: the same calls in the same order, with answers compared by field.

Ids and key material differ, so each server gets its own ids. Key tags, digests and public parts are compared only if
one server exported the key and the other imported it.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Grant, Permission, Right
from dnspanel.accounts.models import User
from replication.codec.dnssec import Nsec3
from tests.dnspanel.api.v1.calls import caller
from tests.dnspanel.zones.conftest import presigned_zone
from tests.oracle.api_corpus import ZONES, new, patch, rrset
from tests.oracle.api_server import Answer, Call, TheirApi, their_api
from tests.oracle.powerdns import Unavailable
from tests.oracle.test_api_v1 import HOSTMASTER, NAMESERVER, SOA, ours
from tests.people import alice as alice

pytestmark = pytest.mark.django_db
# Values that each server creates itself.
OWN = {"id", "dnskey", "ds", "cds", "privatekey", "serial", "edited_serial", "notified_serial", "warning"}
ZONE = "k.test."
KEYS = f"{ZONES}/{ZONE}/cryptokeys"
# The algorithm as sent, the bits, and the name in answers.
ALGORITHMS = [
    (13, None, "ECDSAP256SHA256"),
    ("ecdsa256", 256, "ECDSAP256SHA256"),
    ("ECDSAP384SHA384", None, "ECDSAP384SHA384"),
    (14, 0, "ECDSAP384SHA384"),
    (15, None, "ED25519"),
    ("ed448", None, "ED448"),
    (16, 456, "ED448"),
    (8, 2048, "RSASHA256"),
    ("rsasha512", 2048, "RSASHA512"),
    (13.7, None, "ECDSAP256SHA256"),
]
TYPES = ["ksk", "zsk", "csk"]
Ask = Callable[[Call], Answer]


@dataclass
class Pair:
    """Both servers. `keys` has the two servers' ids of each key that was added to both."""

    theirs: Ask
    ours: Ask
    keys: list[tuple[int, int]]

    def __call__(self, method: str, path: str, body: Any = None, *, key: int | None = None) -> tuple[Any, Any]:
        """Call both servers, check that the answers are equal except their own values, and return both.

        `key` is an index in `keys`.
        """
        found = []
        for side, ask in enumerate((self.theirs, self.ours)):
            answer = ask(Call(method, path if key is None else f"{path}/{self.keys[key][side]}", body))
            found.append((answer.status, json.loads(answer.body) if answer.body else None))
        (their_status, their_value), (our_status, our_value) = found
        message = f"{method} {path} {body}\n  theirs: {their_status} {their_value}\n  ours: {our_status} {our_value}"
        assert our_status == their_status, message
        assert shape(our_value, our_status) == shape(their_value, their_status), message
        return their_value, our_value

    def add(self, body: Mapping[str, Any], zone: str = ZONE) -> tuple[Any, Any]:
        """Create a key on both servers, and return both answers."""
        theirs, ours = self("POST", f"{ZONES}/{zone}/cryptokeys", body)
        self.keys.append((theirs["id"], ours["id"]))
        return theirs, ours

    def look(self, zone: str = ZONE) -> None:
        """Compare all answers about a zone's signing."""
        self("GET", f"{ZONES}/{zone}?rrsets=false")
        self("GET", f"{ZONES}?zone={zone}")
        self("GET", f"{ZONES}?zone={zone}&dnssec=false")
        self("GET", f"{ZONES}/{zone}/cryptokeys")
        self("GET", f"{ZONES}/{zone}/metadata")
        for kind in ("NSEC3PARAM", "NSEC3NARROW", "PRESIGNED", "PUBLISH-CDS", "PUBLISH-CDNSKEY"):
            self("GET", f"{ZONES}/{zone}/metadata/{kind}")


def shape(value: Any, status: int) -> Any:
    """Return a JSON value with server-specific values replaced by their `size`, and a 422 error's field names only."""
    if status == 422:
        return sorted(value)
    if isinstance(value, list):
        return [shape(each, status) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: shape(each, status) for name, each in value.items() if name not in OWN}
    return kept, sorted((name, size(value[name])) for name in value.keys() & OWN - {"warning"})


def size(value: Any) -> Any:
    """Return the comparable part of a differing value: a DS record's algorithm and digest, or a key's length."""
    if isinstance(value, list):
        return [(text.split()[1:3], len(text.split()[3])) for text in value]
    if isinstance(value, str) and value.startswith("25"):
        return value.split()[:3], len(value.split()[3])
    return ""


@pytest.fixture
def pair(alice: User, settings: Any) -> Iterator[Pair]:
    settings.API_REQUESTS_PER_MINUTE = 1_000_000
    settings.DEFAULT_NAMESERVERS, settings.DEFAULT_HOSTMASTER = [NAMESERVER], HOSTMASTER
    key = caller(alice, Grant(frozenset(Right), everywhere=True), permissions=[Permission.FLEET]).key
    try:
        with their_api(**{"default-soa-content": SOA, "domain-metadata-cache-ttl": 0}) as theirs:
            both = Pair(theirs, lambda call: ours(call, key), [])
            both("POST", f"{ZONES}?rrsets=false", new(ZONE))
            yield both
    except Unavailable as exc:
        pytest.skip(str(exc))


@pytest.mark.parametrize(("algorithm", "bits", "name"), ALGORITHMS)
def test_keys_are_made_in_each_algorithm_and_type(pair: Pair, algorithm: Any, bits: int | None, name: str) -> None:
    for number, key_type in enumerate(TYPES):
        body = {"keytype": key_type, "algorithm": algorithm, "active": number < 2, "published": number != 2}
        _, made = pair.add(body if bits is None else {**body, "bits": bits})
        assert made["algorithm"] == name
        pair.look()
        pair("GET", KEYS, key=number)
    for number in range(3):
        for flags in ({"active": True}, {"active": True, "published": True}):
            pair("PUT", KEYS, flags, key=number)
            pair.look()
    pair("PUT", KEYS, {"active": False, "published": False}, key=0)
    pair.look()
    for number in (1, 2, 0):
        pair("DELETE", KEYS, key=number)
        pair("DELETE", KEYS, key=number)
        pair("GET", KEYS, key=number)
        pair.look()


@pytest.mark.parametrize(("algorithm", "bits"), [(8, 2048), (10, 2048), (13, None), (14, None), (15, None), (16, None)])
@pytest.mark.parametrize("key_type", TYPES)
@pytest.mark.parametrize("field", ["privatekey", "content"])
def test_a_key_that_one_exports_is_the_same_in_the_other(
    pair: Pair, algorithm: int, bits: int | None, key_type: str, field: str
) -> None:
    """Creates a key on one server and imports it on the other, in both directions. Both have the same DNSKEY and DS."""
    make = {"keytype": key_type, "algorithm": algorithm, **({"bits": bits} if bits else {})}
    for zone, maker, taker in (("a.test.", pair.theirs, pair.ours), ("b.test.", pair.ours, pair.theirs)):
        pair("POST", f"{ZONES}?rrsets=false", new(zone))
        url = f"{ZONES}/{zone}/cryptokeys"
        made = json.loads(maker(Call("POST", url, make)).body)
        exported = json.loads(maker(Call("GET", f"{url}/{made['id']}")).body)
        assert exported["privatekey"] == made["privatekey"]
        answer = taker(Call("POST", url, {"keytype": key_type, field: exported["privatekey"]}))
        assert answer.status == 201, answer
        taken = json.loads(answer.body)
        assert without(taken, "id") == without(exported, "id")
        pair.look(zone)


def without(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name not in names}


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"keytype": "KSK"},
        {"keytype": 1},
        {"keytype": "zsk"},
        {"keytype": "zsk", "active": True, "bits": 256},
        {"keytype": "csk", "algorithm": 8},
        {"keytype": "csk", "algorithm": "rsasha256", "bits": 0},
        {"keytype": "csk", "algorithm": 13, "bits": 384},
        {"keytype": "csk", "algorithm": 14, "bits": 256},
        {"keytype": "csk", "algorithm": 1},
        {"keytype": "csk", "algorithm": 3},
        {"keytype": "csk", "algorithm": 12},
        {"keytype": "csk", "algorithm": 99},
        {"keytype": "csk", "algorithm": 0},
        {"keytype": "csk", "algorithm": -5},
        {"keytype": "csk", "algorithm": "13"},
        {"keytype": "csk", "algorithm": "default"},
        {"keytype": "csk", "algorithm": True},
        {"keytype": "csk", "algorithm": ""},
        {"keytype": "csk", "algorithm": []},
        {"keytype": "csk", "bits": 1.5},
        {"keytype": "csk", "bits": True},
        {"keytype": "csk", "bits": -1},
        {"keytype": "csk", "bits": "256"},
        {"keytype": "csk", "privatekey": "x"},
        {"keytype": "csk", "privatekey": ""},
        {"keytype": "csk", "privatekey": 5},
        {"keytype": "csk", "content": "Private-key-format: v1.2\nAlgorithm: 99 (X)\nPrivateKey: AAAA\n"},
        {"keytype": "csk", "privatekey": "x", "algorithm": 13},
        b"",
        b"{",
    ],
)
def test_what_is_no_key_is_refused_alike(pair: Pair, body: Any) -> None:
    pair("POST", KEYS, body)
    pair.look()


@pytest.mark.parametrize(
    "more", [{"active": "x"}, {"active": 1}, {"published": "x"}, {"bits": 256}, {"bits": 256.0}, {"bits": 0}, {"x": 1}]
)
def test_what_is_no_flag_counts_as_if_it_were_not_there(pair: Pair, more: dict[str, Any]) -> None:
    pair.add({"keytype": "csk", **more})
    pair.look()


def test_what_changes_no_key_is_refused_alike(pair: Pair) -> None:
    pair.add({"keytype": "csk"})
    for body in ({}, [], {"active": "x"}, {"active": 1}, {"active": None}, {"published": True}, b"", b"{"):
        pair("PUT", KEYS, body, key=0)
    pair("PUT", KEYS, {"active": True, "published": "x"}, key=0)
    pair.look()
    for method in ("GET", "PUT", "DELETE"):
        for id in (999, -1, 0):
            pair(method, f"{KEYS}/{id}", {"active": True})
        pair(method, f"{ZONES}/absent.test./cryptokeys/1", {"active": True})
    pair("PATCH", KEYS, {}, key=0)


NEW_ZONES: list[dict[str, Any]] = [
    {"dnssec": True},
    {"dnssec": True, "nsec3param": "1 0 0 -"},
    {"dnssec": True, "nsec3param": "1 0 0 - "},
    {"dnssec": True, "nsec3param": "1 1 3 ABCD"},
    {"dnssec": True, "nsec3param": "1 0 0 -", "nsec3narrow": True},
    {"dnssec": True, "nsec3narrow": True},
    {"dnssec": True, "nsec3param": ""},
    {"dnssec": True, "nsec3param": 5},
    {"dnssec": True, "nsec3param": "1 0 100 -"},
    {"dnssec": True, "nsec3param": "1 0 101 -"},
    {"dnssec": True, "nsec3param": "2 0 0 -"},
    {"dnssec": True, "kind": "Master", "account": "x", "api_rectify": True},
    {"dnssec": True, "soa_edit_api": "EPOCH"},
    {"dnssec": False},
    {"dnssec": "yes"},
    {"dnssec": 1},
    {"dnssec": None, "nsec3param": None},
    {"nsec3narrow": True},
]


@pytest.mark.parametrize("more", NEW_ZONES)
def test_a_zone_is_created_signed(pair: Pair, more: dict[str, Any]) -> None:
    pair("POST", f"{ZONES}?rrsets=false", new("n.test.", **more))
    pair.look("n.test.") if "101" not in str(more) and "2 0 0" not in str(more) else pair("GET", f"{ZONES}/n.test.")
    pair("GET", ZONES)


CHANGES: list[dict[str, Any]] = [
    {"nsec3param": "1 0 0 -"},
    {"nsec3param": ""},
    {"nsec3narrow": True},
    {"dnssec": False},
    {"dnssec": True},
    {"dnssec": True},
    {"nsec3param": "1 0 0 -"},
    {"nsec3narrow": True},
    {"nsec3narrow": False},
    {"nsec3param": "1 0 1 abcd", "nsec3narrow": True},
    {"nsec3narrow": False},
    {"nsec3param": "1 0 1 abcd"},
    {"nsec3param": "1 0 1 abcd", "nsec3narrow": "x"},
    {"nsec3param": ""},
    {"nsec3param": "", "nsec3narrow": True},
    {"nsec3param": None},
    {"nsec3param": 5},
    {"nsec3param": "1 0 0 -"},
    {"nsec3param": "1 1 0 -"},
    {"nsec3param": "1 0 0 abcd"},
    {"nsec3param": "1 0 0 ab"},
    {"nsec3param": "1 0 101 -"},
    {"nsec3param": "2 0 0 -"},
    {"nsec3param": "1 0 3 -", "account": "q", "dnssec": True},
    {"account": "r"},
    {"dnssec": "x"},
    {"dnssec": 1},
    {"dnssec": False},
    {"dnssec": False},
    {"dnssec": True, "nsec3param": "1 0 0 -", "nsec3narrow": True, "kind": "Master"},
    {"dnssec": False, "nsec3param": ""},
    {},
]


def test_how_a_zone_is_signed_changes_alike(pair: Pair) -> None:
    for body in CHANGES:
        pair("PUT", f"{ZONES}/{ZONE}", body)
        pair.look()
        pair("PUT", f"{ZONES}/{ZONE}/rectify")
    pair("GET", ZONES)


def test_keys_that_do_not_sign_make_no_zone_secure(pair: Pair) -> None:
    pair.add({"keytype": "csk"})
    for body in ({"nsec3param": "1 0 0 -"}, {"dnssec": False}, {"dnssec": True}):
        pair("PUT", f"{ZONES}/{ZONE}", body)
        pair.look()


def test_records_of_a_signed_zone_change_as_before(pair: Pair) -> None:
    pair("PUT", f"{ZONES}/{ZONE}", {"dnssec": True, "nsec3param": "1 0 0 -"})
    for change in (rrset(f"www.{ZONE}", "A", "192.0.2.1"), rrset(f"www.{ZONE}", "A", changetype="DELETE")):
        call = patch(ZONE, change)
        pair(call.method, call.path, call.body)
        pair("GET", f"{ZONES}/{ZONE}?rrset_name=www.{ZONE}")
    pair.look()


CDS = ["2", "1", "2,4", "0", "2"]


@pytest.mark.parametrize("is_signed", [True, False])
def test_cds_and_cdnskey_are_published_and_said_alike(pair: Pair, is_signed: bool) -> None:
    url = f"{ZONES}/{ZONE}/metadata"
    if is_signed:
        pair.add({"keytype": "csk", "active": True})
    for value in CDS:
        pair("PUT", f"{url}/PUBLISH-CDS", {"metadata": [value]})
        pair.look()
    pair("PUT", f"{url}/PUBLISH-CDS", {"metadata": ["4", "2"]})
    pair("POST", url, {"kind": "PUBLISH-CDS", "metadata": ["2", "1"]})
    pair.look()
    pair("POST", url, {"kind": "PUBLISH-CDNSKEY", "metadata": ["1"]})
    pair.look()
    # Metadata of a zone without keys applies once it gets a key, and is kept when it loses its keys.
    pair.add({"keytype": "ksk", "algorithm": 15, "active": True})
    pair.look()
    pair("PUT", f"{ZONES}/{ZONE}", {"dnssec": False})
    pair.look()
    pair("PUT", f"{ZONES}/{ZONE}", {"dnssec": True})
    pair.look()
    pair("PUT", f"{url}/PUBLISH-CDNSKEY", {"metadata": []})
    pair.look()
    for kind in ("NSEC3PARAM", "NSEC3NARROW", "PRESIGNED"):
        pair("PUT", f"{url}/{kind}", {"metadata": ["1"]})
        pair("POST", url, {"kind": kind, "metadata": ["1"]})
        pair("DELETE", f"{url}/{kind}")


# Call, the real server's status, the panel's status, and the reason.
KEY_TEXT = "Private-key-format: v1.2\nAlgorithm: 13 (X)\nPrivateKey: AAAA\n"
DIFFERENT: list[tuple[str, str, Any, int, int, str]] = [
    ("POST", KEYS, {"keytype": "csk", "algorithm": 8, "bits": 1024}, 201, 422, "too short for today"),
    (
        "POST",
        KEYS,
        {"keytype": "csk", "algorithm": 8, "bits": 2049},
        201,
        422,
        "theirs makes one of another size",
    ),
    ("POST", KEYS, {"keytype": "csk", "algorithm": 5, "bits": 2048}, 201, 422, "no keys of SHA-1 are made"),
    ("POST", KEYS, {"keytype": "csk", "algorithm": 7, "bits": 2048}, 201, 422, "no keys of SHA-1 are made"),
    ("POST", KEYS, {"keytype": "csk", "content": KEY_TEXT}, 500, 422, "theirs breaks"),
    ("POST", KEYS, {"keytype": "csk", "active": True, "published": False}, 201, 422, "nobody could validate the zone"),
    ("GET", f"{KEYS}/x", None, 500, 404, "theirs breaks"),
    ("DELETE", KEYS, None, 400, 405, "405 from 5.0 on"),
    ("POST", ZONES, new("d1.test.", dnssec=True, nsec3param="bad"), 500, 422, "theirs breaks"),
    ("POST", ZONES, new("d2.test.", dnssec=True, nsec3param="1 0 0"), 500, 422, "theirs breaks"),
    ("POST", ZONES, new("d3.test.", dnssec=True, nsec3param="1 5 0 -"), 201, 422, "there are no such flags"),
    ("POST", ZONES, new("d4.test.", dnssec=True, nsec3param="1 0 0 abc"), 201, 422, "half a byte"),
    ("POST", ZONES, new("d5.test.", dnssec=True, nsec3param="1 0 0 - x"), 201, 422, "more than four fields"),
    ("POST", ZONES, new("d6.test.", dnssec=True, nsec3param=f"1 0 0 {'ab' * 33}"), 201, 422, "too much salt"),
    ("POST", ZONES, new("d7.test.", nsec3param="1 0 0 -"), 422, 422, "theirs leaves half a zone"),
    ("GET", f"{ZONES}/d7.test.", None, 200, 404, "theirs leaves half a zone"),
]


def test_where_the_two_differ_is_written_down(pair: Pair) -> None:
    for method, path, body, their_status, our_status, reason in DIFFERENT:
        call = Call(method, path, body)
        found = pair.theirs(call).status, pair.ours(call).status
        assert found == (their_status, our_status), f"{call}: {reason}"


def test_a_key_is_taken_in_once(pair: Pair) -> None:
    """The real server stores the key twice, and answers with the same DNSKEY twice."""
    _, made = pair.add({"keytype": "csk"})
    body = {"keytype": "csk", "privatekey": made["privatekey"]}
    call = Call("POST", KEYS, body)
    assert pair.ours(call).status == 422
    assert [pair.theirs(call).status for _ in range(2)] == [201, 201]


def test_no_server_is_asked_in_vain(pair: Pair) -> None:
    """Otherwise two servers that refuse all calls would pass, too."""
    theirs, made = pair.add({"keytype": "csk", "active": True})
    assert theirs["privatekey"].startswith("Private-key-format: v1.2\nAlgorithm: 13 (ECDSAP256SHA256)\nPrivateKey: ")
    assert without(theirs, *OWN) == without(made, *OWN)
    assert isinstance(pair.theirs, TheirApi)


# For presigned zones: calls with equal results, and calls that only the real server accepts, with reasons.
PRESIGNED_ALIKE: list[tuple[str, str, Any]] = [
    ("PUT", "/rectify", None),
    ("PUT", "", {"presigned": False}),
    ("PUT", "", {"presigned": True}),
    ("PUT", "/metadata/PRESIGNED", {"metadata": ["0"]}),
    ("DELETE", "/metadata/PRESIGNED", None),
    ("DELETE", "/metadata/NSEC3PARAM", None),
    ("PUT", "/metadata/PUBLISH-CDS", {"metadata": ["2"]}),
    ("PUT", "", {"dnssec": True}),
    ("DELETE", "/cryptokeys/1", None),
    ("PUT", "/cryptokeys/1", {"active": True}),
    ("PUT", "", {"api_rectify": False}),
]
PRESIGNED_REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/cryptokeys", {"keytype": "csk"}, 201, "the key would sign nothing"),
    ("PUT", "", {"nsec3param": "1 0 1 ab"}, 204, "its signatures are over another chain"),
    ("PUT", "", {"nsec3param": "1 0 0 -", "nsec3narrow": True}, 204, "nothing could sign the answers of narrow mode"),
]


@pytest.mark.parametrize("nsec3", [None, Nsec3()])
def test_a_zone_that_came_with_its_signatures(pair: Pair, alice: User, nsec3: Nsec3 | None) -> None:
    zone = "presigned.test."
    url = f"{ZONES}/{zone}"
    presigned_zone(alice, name=zone, nsec3=nsec3)
    assert isinstance(pair.theirs, TheirApi)
    assert pair.theirs(Call("POST", f"{ZONES}?rrsets=false", new(zone))).status == 201
    with closing(sqlite3.connect(pair.theirs.database)) as database:
        values = {"PRESIGNED": "1"} | ({} if nsec3 is None else {"NSEC3PARAM": "1 0 0 -"})
        for kind, value in values.items():
            insert = "INSERT INTO domainmetadata (domain_id, kind, content) SELECT id, ?, ? FROM domains WHERE name = ?"
            database.execute(insert, (kind, value, zone.rstrip(".")))
        database.commit()
    for method, path, body in PRESIGNED_ALIKE:
        pair(method, url + path, body)
        pair("GET", f"{url}/cryptokeys")
        pair("GET", f"{url}/metadata/PRESIGNED")
        pair("GET", f"{url}/metadata/NSEC3PARAM")
    for method, path, body, status, _ in PRESIGNED_REFUSED:
        call = Call(method, url + path, body)
        assert (pair.ours(call).status, pair.theirs(call).status) == (422, status)
    pair("PUT", url, {"dnssec": False})
    for kind in ("PRESIGNED", "NSEC3PARAM", "NSEC3NARROW"):
        pair("GET", f"{url}/metadata/{kind}")
    pair("PUT", f"{url}/rectify")
