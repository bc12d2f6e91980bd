"""Tests of dyndns2: the protocol's words, both address families, prefixes, many hosts and narrow rights."""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens import presets, tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import NewToken
from dnspanel.api import dyndns
from dnspanel.api.dyndns import Addresses, NotAnAddress, Prefix, intents_in
from dnspanel.fleet.models import Node
from dnspanel.zones.log import publish_hold as publishing_hold
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.taken_back import refusing
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import alice as alice
from tests.people import bob as bob
from tests.publishing import change_rrsets

CALLER = "192.0.2.200"
Ask = Callable[..., str]


@pytest.fixture
def token(alice: User) -> NewToken:
    terms = TokenTerms("router", (Grant(RECORD_RIGHTS | {Right.READ}, everywhere=True),))
    return tokens.create_token(owner=alice, terms=terms, by=alice, now=timezone.now())


@pytest.fixture
def ask(client: Client, token: NewToken) -> Ask:
    """Return a function that sends a router's update request and returns the answer."""

    def ask(host: str = "home.example.test", *, secret: str = token.secret, caller: str = CALLER, **given: str) -> str:
        reply = client.get(
            "/nic/update?" + urlencode({"hostname": host, **given}),
            headers={"Authorization": basic("x", secret)},
            REMOTE_ADDR=caller,
        )
        assert reply["Content-Type"] == "text/plain"
        return reply.content.decode().rstrip("\n")

    return ask


def basic(user_name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user_name}:{password}".encode()).decode()


def addresses(zone: Zone, name: str = "home.example.test.") -> tuple[str, ...]:
    """Return the A and AAAA values at the name."""
    there = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {name})})[zone.pk]
    return tuple(text for _, rrset in sorted(there.items()) for text in rrset.served)


def hold(zone: Zone, author: User, *lines: str) -> None:
    changes = {(rrset.name, rrset.type): rrset for rrset in map(rr, lines)}
    change_rrsets(zone=zone, changes=changes, author=author, channel=Channel.API, now=timezone.now())


def publications() -> int:
    return Publication.objects.filter(channel=Channel.DYNAMIC_UPDATE).count()


def test_a_token_that_must_send_if_match_is_not_for_routers(zone: Zone, ask: Ask, alice: User) -> None:
    terms = TokenTerms("careful", (Grant(RECORD_RIGHTS | {Right.READ}, everywhere=True),), needs_if_match=True)
    careful = tokens.create_token(owner=alice, terms=terms, by=alice, now=timezone.now())
    assert ask(secret=careful.secret) == "badauth"
    assert addresses(zone) == ()


# Which addresses


def test_the_given_address_is_published_once_and_then_nothing_is(zone: Zone, ask: Ask, token: NewToken) -> None:
    assert ask(myip="192.0.2.7") == "good 192.0.2.7"
    assert ask(myip="192.0.2.7") == "nochg 192.0.2.7"
    publication = Publication.objects.latest("sequence")
    assert (publications(), publication.token) == (1, token.token)
    assert zone.rrsets.get(name="home.example.test.").ttl == 60


@pytest.mark.parametrize("path", ["/nic/update", "/v3/update"])
def test_a_router_that_names_no_host_of_the_panel_is_answered(
    zone: Zone, client: Client, token: NewToken, path: str
) -> None:
    """HTTP/1.0 needs no Host header. Django then uses the address that it listens on."""
    reply = client.get(
        f"{path}?hostname=home.example.test&myip=192.0.2.7",
        headers={"Authorization": basic("x", token.secret)},
        SERVER_NAME="203.0.113.77",
        SERVER_PORT="8000",
        SERVER_PROTOCOL="HTTP/1.0",
    )
    assert (reply.status_code, reply.content) == (200, b"good 192.0.2.7\n")


def test_without_an_address_it_is_the_callers(zone: Zone, ask: Ask) -> None:
    assert ask() == f"good {CALLER}"
    assert ask(caller="2001:db8::7") == "good 2001:db8::7"
    assert ask(myip="", caller="192.0.2.201") == "good 192.0.2.201"
    assert addresses(zone) == ("192.0.2.201", "2001:db8::7")


def test_an_ipv4_caller_over_ipv6_is_an_ipv4_caller(zone: Zone, ask: Ask) -> None:
    assert ask(caller="::ffff:192.0.2.9") == "good 192.0.2.9"


@pytest.mark.parametrize(
    "given",
    [
        {"myip": "192.0.2.7,2001:db8::7"},
        {"myip": "192.0.2.7", "myipv6": "2001:DB8::7"},
        {"ip": "192.0.2.7", "ip6": "2001:db8:0::7"},
        {"myip": " 2001:db8::7 , 192.0.2.7"},
        {"myip": "192.0.2.7", "myipv6": "2001:db8::7", "ip6lanprefix": "2001:db8:5::/56"},
    ],
)
def test_both_families_in_the_spellings_of_all_clients(zone: Zone, ask: Ask, given: dict[str, str]) -> None:
    assert ask(**given) == "good 192.0.2.7,2001:db8::7"
    assert addresses(zone) == ("192.0.2.7", "2001:db8::7")
    assert publications() == 1


def test_a_host_may_have_several_addresses(zone: Zone, ask: Ask) -> None:
    assert ask(myip="192.0.2.7,192.0.2.8") == "good 192.0.2.7,192.0.2.8"
    assert ask(myip="192.0.2.8") == "good 192.0.2.8"


def test_a_family_that_is_not_mentioned_stays(zone: Zone, ask: Ask) -> None:
    ask(myip="192.0.2.7,2001:db8::7")
    assert ask(myip="192.0.2.8") == "good 192.0.2.8"
    assert ask(myipv6="2001:db8::8", caller="192.0.2.9") == "good 2001:db8::8"
    assert addresses(zone) == ("192.0.2.8", "2001:db8::8")


def test_a_family_is_preserved_on_demand(zone: Zone, ask: Ask) -> None:
    ask(myip="192.0.2.7,2001:db8::7")
    assert ask(myip="192.0.2.8", myipv6="preserve") == "good 192.0.2.8"
    assert ask(myip="preserve", myipv6="2001:db8::8") == "good 2001:db8::8"
    assert ask(myip="preserve", myipv6="preserve") == "nochg"
    assert addresses(zone) == ("192.0.2.8", "2001:db8::8")


def test_an_address_that_a_router_has_no_more_goes(zone: Zone, ask: Ask) -> None:
    ask(myip="192.0.2.7,2001:db8::7")
    assert ask(myip="", myipv6="2001:db8::7") == "good 2001:db8::7"
    assert addresses(zone) == ("2001:db8::7",)
    assert ask(myip="", myipv6="2001:db8::7") == "nochg 2001:db8::7"


def test_a_host_can_go_offline(zone: Zone, ask: Ask) -> None:
    ask(myip="192.0.2.7,2001:db8::7")
    assert ask(offline="YES") == "good"
    assert ask(offline="YES") == "nochg"
    assert addresses(zone) == ()


def test_a_prefix_moves_the_hosts_and_keeps_their_interface_ids(zone: Zone, ask: Ask, alice: User) -> None:
    hold(zone, alice, "home 300 AAAA 2001:db8:1:aa::1 | 2001:db8:1:bb::2", "home 300 A 192.0.2.7")
    assert ask(myipv6="2001:db8:2:ff00::/56") == "good 2001:db8:2:ffaa::1,2001:db8:2:ffbb::2"
    assert ask(ip6lanprefix="2001:db8:2:ff00::/56") == "nochg 2001:db8:2:ffaa::1,2001:db8:2:ffbb::2"
    assert addresses(zone)[0] == "192.0.2.7"
    assert zone.rrsets.get(name="home.example.test.", type=rdtypes.AAAA).ttl == 300


def test_a_prefix_alone_makes_no_address(zone: Zone, ask: Ask) -> None:
    assert ask(myipv6="2001:db8:2::/56") == "nohost"
    assert ask(myip="192.0.2.7", myipv6="2001:db8:2::/56") == "good 192.0.2.7"
    assert addresses(zone) == ("192.0.2.7",)


def test_ttl_comment_and_other_records_of_the_host_stay(zone: Zone, ask: Ask, alice: User) -> None:
    commented = rr("home 1200 A 192.0.2.1", comment="the router in the cellar")
    changes = {(commented.name, commented.type): commented}
    change_rrsets(zone=zone, changes=changes, author=alice, channel=Channel.API, now=timezone.now())
    hold(zone, alice, 'home 300 TXT "x"')
    ask(myip="192.0.2.7")
    row = zone.rrsets.get(name="home.example.test.", type=rdtypes.A)
    assert (row.ttl, row.comment) == (1200, "the router in the cellar")
    assert zone.rrsets.filter(name="home.example.test.", type=rdtypes.TXT).exists()


@pytest.mark.parametrize(
    "myip", ["192.0.2", "192.0.2.256", "router", "192.0.2.1/33", "fe80::1%eth0", "１.2.3.4", "/", "\0"]
)
def test_what_is_no_address_is_dnserr_and_changes_nothing(zone: Zone, ask: Ask, myip: str) -> None:
    assert ask(myip=myip) == "dnserr"
    assert publications() == 0


@pytest.mark.parametrize(
    "myip",
    [
        *("0.0.0.0", "0.1.2.3", "127.0.0.1", "169.254.1.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "0.0.0.0/8"),
        *("::", "::1", "fe80::1", "fec0::1", "ff02::1", "::ffff:192.0.2.1", "fe80::/64", "0.0.0.0,fe80::1"),
    ],
)
def test_an_address_that_no_host_has_is_not_published(zone: Zone, ask: Ask, myip: str) -> None:
    """RFC 1122 3.2.1.3, RFC 4291 2.5. A router sent such addresses before it had a real one (inadyn issue 209)."""
    ask(myip="192.0.2.7")
    assert ask(myip=myip) == "dnserr"
    assert ask(myip=f"192.0.2.8,{myip}") == "good 192.0.2.8"
    assert ask(caller="127.0.0.1") == "dnserr"
    assert (addresses(zone), publications()) == (("192.0.2.8",), 2)


def test_a_parameter_that_is_given_twice_counts_both_times(zone: Zone, client: Client, token: NewToken) -> None:
    """OpenWrt sends `myip` twice, once for each address family (openwrt/packages issue 17875)."""
    head = {"authorization": basic("x", token.secret)}
    url = "/nic/update?hostname=home.example.test&myip=192.0.2.8&myip=2001:db8::8"
    assert client.get(url, headers=head).content == b"good 192.0.2.8,2001:db8::8\n"
    url = "/nic/update?hostname=home.example.test&hostname=b.example.test&myip=192.0.2.9"
    assert client.get(url, headers=head).content == b"good 192.0.2.9\n" * 2
    url = "/nic/update?hostname=home.example.test&myip=192.0.2.10"
    sent = {"hostname": "b.example.test", "myip": "2001:db8::10"}
    assert client.post(url, sent, headers=head).content == b"good 192.0.2.10,2001:db8::10\n" * 2


def test_intents_are_found_without_a_database() -> None:
    assert intents_in({}, CALLER) == {rdtypes.A: Addresses((CALLER,))}
    (prefix,) = intents_in({"myipv6": ["2001:db8::5/56"]}, CALLER).values()
    assert isinstance(prefix, Prefix)
    with pytest.raises(NotAnAddress):
        intents_in({}, "")


# Which hosts


def test_several_hosts_of_a_zone_are_one_publication(zone: Zone, ask: Ask) -> None:
    reply = ask("home.example.test,vpn.example.test,HOME.Example.test", myip="192.0.2.7")
    assert reply == "good 192.0.2.7\n" * 2 + "good 192.0.2.7"
    assert publications() == 1
    assert ask("vpn.example.test,new.example.test", myip="192.0.2.7") == "nochg 192.0.2.7\ngood 192.0.2.7"


def test_hosts_of_several_zones_and_the_longest_zone_wins(make_zone: MakeZone, ask: Ask) -> None:
    outer, inner = make_zone(), make_zone(name="dyn.example.test.")
    reply = ask("a.dyn.example.test,a.example.test", myip="192.0.2.7")
    assert reply == "good 192.0.2.7\ngood 192.0.2.7"
    assert addresses(inner, "a.dyn.example.test.") == addresses(outer, "a.example.test.") == ("192.0.2.7",)
    assert addresses(outer, "a.dyn.example.test.") == ()


def test_a_host_that_does_not_work_does_not_keep_the_others(zone: Zone, ask: Ask) -> None:
    hosts = [
        "home.example.test",
        "nowhere.test",
        "shop.example.test",
        "nohost",
        "a..b.example.test",
        "vpn.example.test",
    ]
    lines = ask(",".join(hosts), myip="192.0.2.7").split("\n")
    # `shop` is a CNAME.
    assert lines == ["good 192.0.2.7", "nohost", "dnserr", "notfqdn", "notfqdn", "good 192.0.2.7"]


@pytest.mark.parametrize("host", ["", ",", "router", ".", "x" * 64 + ".example.test", "a\0b.example.test"])
def test_what_is_no_host_name_is_notfqdn(zone: Zone, ask: Ask, host: str) -> None:
    assert ask(host, myip="192.0.2.7") == "notfqdn"


def test_twenty_hosts_are_enough(zone: Zone, ask: Ask) -> None:
    hosts = [f"h{number}.example.test" for number in range(21)]
    assert ask(",".join(hosts), myip="192.0.2.7") == "numhost"
    assert ask(",".join(hosts[:20]), myip="192.0.2.7").count("good") == 20


def test_the_user_name_is_the_host_where_no_parameter_is(zone: Zone, client: Client, token: NewToken) -> None:
    for user_name, expected in (("home.example.test", "good 192.0.2.7\n"), ("admin", "notfqdn\n")):
        reply = client.get("/nic/update?myip=192.0.2.7", headers={"Authorization": basic(user_name, token.secret)})
        assert reply.content.decode() == expected


# Who


def test_every_way_to_carry_the_token_works_by_get_and_post(zone: Zone, client: Client, token: NewToken) -> None:
    carried = [
        {"Authorization": basic("anything", token.secret)},
        {"Authorization": f"Bearer {token.secret}"},
        {"X-API-Key": token.secret},
    ]
    form = {"hostname": "home.example.test", "myip": "192.0.2.7"}
    for headers in carried:
        for path in ("/nic/update", "/v3/update"):
            assert client.get(path, form, headers=headers).status_code == 200
            assert client.post(path, form, headers=headers).content.startswith(b"nochg")


@pytest.mark.parametrize(
    "authorization",
    ["", "Basic", "Basic !!!", "Basic eA==", basic("x", ""), basic("x", "dnsp_guessed"), basic("", "é"), "Bearer x"],
)
def test_nobody_else_is_told_anything(zone: Zone, client: Client, authorization: str) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    for host in ("home.example.test", "nowhere.test"):
        reply = client.get("/nic/update", {"hostname": host, "myip": "192.0.2.7"}, headers=headers)
        assert (reply.status_code, reply.content) == (401, b"badauth\n")
        assert reply["WWW-Authenticate"] == 'Basic realm="dnspanel"'
    assert publications() == 0


def test_a_session_of_a_browser_opens_nothing(zone: Zone, client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get("/nic/update?hostname=home.example.test").status_code == 401


def test_the_token_for_one_host_changes_that_host_only(zone: Zone, ask: Ask, alice: User) -> None:
    terms = presets.dyndns_terms(zone_id=zone.pk, name="home.example.test.", now=timezone.now())
    secret = tokens.create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret
    assert ask("home.example.test,www.example.test", secret=secret, myip="192.0.2.7") == "good 192.0.2.7\nnohost"
    assert ask(secret=secret, myip="", myipv6="2001:db8::7") == "good 2001:db8::7"
    assert addresses(zone, "www.example.test.") == ("192.0.2.1", "192.0.2.2")


def test_a_zone_that_the_token_may_not_know_is_no_zone(make_zone: MakeZone, ask: Ask, alice: User) -> None:
    outer, inner = make_zone(), make_zone(name="secret.example.test.")
    scope = (Grant(RECORD_RIGHTS | {Right.READ}, zones=frozenset({outer.pk})),)
    terms = TokenTerms("outer", scope)
    secret = tokens.create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret
    assert ask("a.other.test", secret=secret) == "nohost"
    ask("a.secret.example.test", secret=secret)
    assert addresses(inner, "a.secret.example.test.") == ()


def test_a_token_of_a_network_works_from_there_only(zone: Zone, ask: Ask, alice: User) -> None:
    terms = TokenTerms("router", (Grant(RECORD_RIGHTS | {Right.READ}, everywhere=True),), networks=("192.0.2.0/28",))
    secret = tokens.create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret
    assert ask(secret=secret, caller="192.0.2.3") == "good 192.0.2.3"
    assert ask(secret=secret, caller="192.0.2.99") == "badauth"


def test_an_expired_token_is_badauth(zone: Zone, ask: Ask, alice: User, token: NewToken) -> None:
    token.token.expires_at = timezone.now() - timedelta(seconds=1)
    token.token.save()
    assert ask() == "badauth"


def test_asking_all_the_time_is_abuse(zone: Zone, client: Client, alice: User) -> None:
    terms = replace(TokenTerms("hectic", (Grant(frozenset({Right.READ}), everywhere=True),)), requests_per_minute=1)
    secret = tokens.create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret
    url = "/nic/update?hostname=home.example.test"
    replies = [client.get(url, headers={"X-API-Key": secret}) for _ in range(3)]  # a minute may end in between
    assert (429, b"abuse\n") in {(reply.status_code, reply.content) for reply in replies}


# The rest


def test_a_database_that_is_away_is_911(zone: Zone, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_: object) -> None:
        raise DatabaseError("away")

    monkeypatch.setattr(dyndns.zone_patches, "publish_patches", fails)
    assert ask(myip="192.0.2.7") == "911"


def test_other_methods_are_not_allowed(zone: Zone, client: Client, token: NewToken) -> None:
    for method in (client.put, client.delete, client.patch):
        assert method("/nic/update", headers={"X-API-Key": token.secret}).status_code == 405


def test_unknown_parameters_of_clients_do_not_matter(zone: Zone, ask: Ask) -> None:
    assert ask(myip="192.0.2.7", system="dyndns", wildcard="ON", mx="m.test", backmx="NO") == "good 192.0.2.7"


def test_the_url_is_where_clients_expect_it() -> None:
    assert reverse("api:dyndns") == "/nic/update"


def test_an_update_without_a_change_takes_few_queries(
    zone: Zone, ask: Ask, django_assert_max_num_queries: Callable[..., object]
) -> None:
    ask(myip="192.0.2.7")
    with django_assert_max_num_queries(8):  # type: ignore[attr-defined]
        ask(myip="192.0.2.7")


def test_while_publishing_is_held_a_router_is_told_to_come_back(zone: Zone, ask: Ask) -> None:
    before = publications()
    publishing_hold.hold(reason="ns1 knows more.", now=timezone.now())
    assert ask(myip="192.0.2.7") == "911"
    assert (publications(), addresses(zone)) == (before, ())
    publishing_hold.release()
    assert ask(myip="192.0.2.7") == "good 192.0.2.7"


@pytest.mark.django_db(transaction=True)
def test_an_update_that_the_canary_refuses_is_an_error(ask: Ask, zone: Zone, active_node: MakeNode) -> None:
    # Regression test: routers got `good` for a change that was taken back two seconds later.
    Node.objects.filter(pk=active_node("canary").pk).update(is_ring0=True)
    with refusing(2):
        assert ask(myip="192.0.2.7") == "dnserr"
    assert addresses(zone) == ()
