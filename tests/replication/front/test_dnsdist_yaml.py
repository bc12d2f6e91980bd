"""The contents of dnsdist.yml, next to dnsdist.conf. `test_releases` starts dnsdist with the file.

Tests `front.decisions` too.
"""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from replication.front import dnsdist_yaml
from replication.front.decisions import Means, needs_restart
from replication.front.release import Release
from tests.replication.front.test_dnsdist_conf import CONFIG, SECRETS

MEANS = Means(Release("2.1.3", frozenset(("yaml", "dns-over-tls", "dns-over-https", "AF_XDP"))))
FULL = replace(
    CONFIG, cores=3, cache_entries=9, queries_per_second=9, tls_certificate="/c.pem", tls_key="/k.pem", doq_port=0
)


def parsed(text: str) -> Any:
    return yaml.safe_load(text)


def test_every_value_has_its_reason_above_it_or_shares_that_of_the_one_before() -> None:
    explained = False
    for line in dnsdist_yaml.render(FULL, SECRETS, MEANS).splitlines():
        is_reason, is_key = line.lstrip().startswith("#"), line.endswith(":")
        assert not line or is_reason or is_key or explained, line
        explained = is_reason or (bool(line) and not is_key)


def test_a_bind_has_a_thread_for_each_core_or_queue() -> None:
    plain = parsed(dnsdist_yaml.render(FULL, SECRETS, MEANS))["binds"]
    assert [(bind["protocol"], bind.get("threads")) for bind in plain] == [
        ("Do53", 3),
        ("Do53", 3),
        ("DoT", None),
        ("DoT", None),
        ("DoH", None),
        ("DoH", None),
    ]
    config = replace(CONFIG, cores=3, xdp_interface="eth0")
    text = dnsdist_yaml.render(config, SECRETS, replace(MEANS, queues=2))
    found = parsed(text)
    assert [(xsk["interface"], xsk["queues"]) for xsk in found["xsk"]] == [("eth0", 2)]
    assert [(bind["threads"], bind.get("xsk")) for bind in found["binds"]] == [(2, "packets"), (1, None)] * 2
    without = dnsdist_yaml.render(config, SECRETS, replace(MEANS, no_xdp="no AF_XDP: this kernel has none"))
    assert "\n# no AF_XDP: this kernel has none\n" in without
    assert "xsk" not in parsed(without)


def test_over_quic_each_core_has_a_thread_and_answers_over_https_tell_of_http3() -> None:
    release = Release("2.1.1", frozenset(("yaml", "dns-over-https", "dns-over-quic", "dns-over-http3")))
    config = replace(FULL, listen=FULL.listen[:1], doq_port=853)
    binds = parsed(dnsdist_yaml.render(config, SECRETS, Means(release)))["binds"]
    assert [(bind["protocol"], bind["listen_address"], bind.get("threads")) for bind in binds] == [
        ("Do53", "192.0.2.1:53", 3),
        ("DoH", "192.0.2.1:443", None),
        ("DoQ", "192.0.2.1:853", 3),
        ("DoH3", "192.0.2.1:443", 3),
    ]
    assert all(bind["reuseport"] for bind in binds if "threads" in bind)
    assert binds[1]["doh"]["custom_response_headers"] == [{"key": "alt-svc", "value": 'h3=":443"'}]
    binds = parsed(dnsdist_yaml.render(replace(config, doh3_port=0), SECRETS, Means(release)))["binds"]
    assert binds[1]["doh"] == {"paths": ["/dns-query"]}


def test_over_tcp_there_is_a_cache_for_no_release_that_reads_this() -> None:
    rule = {"selector": {"type": "TCP", "tcp": True}, "action": {"type": "SetSkipCache"}}
    assert rule in parsed(dnsdist_yaml.render(FULL, SECRETS, MEANS))["query_rules"]
    assert rule not in parsed(dnsdist_yaml.render(replace(FULL, cache_entries=0), SECRETS, MEANS))["query_rules"]


def test_who_is_out_of_rotation_is_found_in_the_text_again() -> None:
    text = dnsdist_yaml.render(FULL, SECRETS, MEANS, {"ns2"})
    assert [each["health_checks"]["mode"] for each in parsed(text)["backends"]] == ["auto", "down"]
    assert dnsdist_yaml.out_in(text, FULL.backends) == {"ns2"}
    assert not dnsdist_yaml.out_in(text, [replace(FULL.backends[1], weight=7)])


@pytest.mark.parametrize(
    ("change", "restarts"), [({"backends": CONFIG.backends[:1]}, False), ({"cores": 4}, True), ({"doh_port": 0}, True)]
)
def test_other_nodes_need_no_dnsdist_that_starts_anew(change: dict[str, Any], restarts: bool) -> None:
    before, after = (dnsdist_yaml.render(each, SECRETS, MEANS) for each in (FULL, replace(FULL, **change)))
    assert needs_restart(before, after) is restarts
    assert not needs_restart(before, dnsdist_yaml.render(FULL, SECRETS, MEANS, {"ns1"}))


def test_a_path_cannot_end_its_text() -> None:
    path = '/a"b\\c\nd: e'
    found = parsed(dnsdist_yaml.render(replace(FULL, tls_certificate=path), SECRETS, MEANS))
    assert {bind["tls"]["certificates"][0]["certificate"] for bind in found["binds"] if "tls" in bind} == {path}
