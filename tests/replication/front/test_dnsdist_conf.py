"""The contents of dnsdist.conf. `test_front` tests that the installed dnsdist starts with the file."""

import re
from dataclasses import replace
from pathlib import Path

from replication.front.decisions import Means, Secrets, needs_restart
from replication.front.dnsdist_conf import render, rotation_text
from replication.front.front_config import FrontConfig
from replication.front.release import Release
from replication.wire.front_messages import Backend, Endpoint

CONFIG = FrontConfig(
    state_dir=Path("/var/lib/dnspanel-front"),
    listen=(Endpoint("192.0.2.1", 53), Endpoint("2001:db8::1", 53)),
    backends=(Backend("ns1", Endpoint("192.0.2.53", 53)), Backend("ns2", Endpoint("2001:db8::53", 53))),
)
SECRETS = Secrets("a2V5", "api")
MEANS = Means(Release("1.7.3", frozenset(("dns-over-tls", "dns-over-https"))))


def lines(config: FrontConfig, means: Means = MEANS) -> list[str]:
    return [line for line in render(config, SECRETS, means).splitlines() if line and not line.startswith("--")]


def test_every_line_has_its_reason_above_it_or_shares_that_of_the_one_before() -> None:
    explained = False
    for line in render(replace(CONFIG, cores=2, cache_entries=9, queries_per_second=9), SECRETS, MEANS).splitlines():
        assert not line or explained or line.startswith("--"), line
        explained = bool(line)


def test_each_core_has_a_listener_on_each_address_and_one_call_begins() -> None:
    found = [line for line in lines(replace(CONFIG, cores=2)) if "reusePort" in line]
    assert [line.partition("(")[0] for line in found] == ["setLocal", "addLocal", "addLocal", "addLocal"]
    assert sum('"[2001:db8::1]:53"' in line for line in found) == 2


def test_weights_choose_the_policy_that_heeds_them() -> None:
    assert "setServerPolicy(leastOutstanding)" in lines(CONFIG)
    heavy = replace(CONFIG.backends[0], weight=9)
    assert "setServerPolicy(wrandom)" in lines(replace(CONFIG, backends=(heavy, CONFIG.backends[1])))


def test_what_is_not_wanted_is_not_there() -> None:
    text = render(CONFIG, SECRETS, MEANS)
    for word in ("PacketCache", "MaxQPS", "addTLSLocal", "addDOHLocal"):
        assert word not in text
    text = render(replace(CONFIG, tls_certificate="/c.pem", tls_key="/k.pem", doh_port=0), SECRETS, MEANS)
    assert 'addTLSLocal("[2001:db8::1]:853", "/c.pem", "/k.pem")' in text
    assert "addDOHLocal" not in text


def test_what_dnsdist_was_built_without_is_not_there_and_said() -> None:
    config = replace(CONFIG, tls_certificate="/c.pem", tls_key="/k.pem")
    text = render(config, SECRETS, Means(Release("1.9.16", frozenset(("dns-over-tls", "dns-over-http3")))))
    assert 'addDOH3Local("192.0.2.1:443", "/c.pem", "/k.pem", {reusePort=true})' in text
    assert "-- no DNS over HTTPS (RFC 8484): this dnsdist was built without it" in text
    assert "-- no DNS over QUIC (RFC 9250): this dnsdist was built without it" in text
    assert not {"addDOHLocal", "addDOQLocal"} & set(re.findall(r"\w+", text))


def test_over_quic_each_core_has_a_listener_and_answers_over_https_tell_of_http3() -> None:
    release = Release("1.9.16", frozenset(("dns-over-https", "dns-over-quic", "dns-over-http3")))
    config = replace(CONFIG, listen=CONFIG.listen[:1], cores=2, tls_certificate="/c.pem", tls_key="/k.pem")
    encrypted = [line for line in lines(config, Means(release)) if "/c.pem" in line]
    header = r'{customResponseHeaders={["alt-svc"]="h3=\":443\""}}'
    assert encrypted == [
        f'addDOHLocal("192.0.2.1:443", "/c.pem", "/k.pem", "/dns-query", {header})',
        *['addDOQLocal("192.0.2.1:853", "/c.pem", "/k.pem", {reusePort=true})'] * 2,
        *['addDOH3Local("192.0.2.1:443", "/c.pem", "/k.pem", {reusePort=true})'] * 2,
    ]
    without = render(replace(config, doh3_port=0), SECRETS, Means(release))
    assert 'addDOHLocal("192.0.2.1:443", "/c.pem", "/k.pem", "/dns-query")' in without
    assert "HTTP/3" not in without


def test_packets_come_past_the_kernel_on_each_queue_and_where_they_cannot_the_reason_is_there() -> None:
    config = replace(CONFIG, cores=3, xdp_interface="eth0")
    release = Release("1.9.16", frozenset(("AF_XDP",)))
    found = lines(config, Means(release, queues=2))
    assert [line.partition("=")[0] for line in found if "newXsk" in line] == ["local xsk0 ", "local xsk1 "]
    first = [line for line in found if '"192.0.2.1:53"' in line]
    assert [line.partition("{")[2] for line in first] == [
        "reusePort=true, xskSocket=xsk0})",
        "reusePort=true, xskSocket=xsk1})",
        "reusePort=true})",
    ]
    text = render(config, SECRETS, Means(release, no_xdp="no AF_XDP: this kernel has none"))
    assert "\n-- no AF_XDP: this kernel has none\n" in text
    assert "xsk" not in text
    assert text.count("reusePort=true}") == 6


def test_where_tcp_learns_late_of_rules_it_has_no_cache() -> None:
    config = replace(CONFIG, cache_entries=9)
    rule = "addAction(TCPRule(true), (SetSkipCacheAction or SkipCacheAction)())"
    assert rule in lines(config, Means(Release("2.0.8", frozenset())))
    assert rule not in lines(config, Means(Release("1.9.16", frozenset())))
    assert rule not in lines(CONFIG, Means(Release("2.0.8", frozenset())))


def test_a_path_cannot_end_its_string() -> None:
    text = render(replace(CONFIG, tls_certificate='/a"b\\c\nd', tls_key="/k"), SECRETS, MEANS)
    assert r'"/a\"b\\c\nd"' in text


def test_who_is_out_is_said_by_name() -> None:
    text = rotation_text(("ns3", "ns1"))
    assert 'local out = {["ns1"]=true, ["ns3"]=true}' in text
    assert text.endswith("if out[server.name] then server:setDown() end end\n")


def test_other_nodes_need_no_dnsdist_that_starts_anew_and_other_listeners_do() -> None:
    text = render(CONFIG, SECRETS, MEANS)
    assert not needs_restart(text, render(replace(CONFIG, backends=CONFIG.backends[:1]), SECRETS, MEANS))
    assert needs_restart(text, render(replace(CONFIG, cores=2), SECRETS, MEANS))
    assert needs_restart("", text)
