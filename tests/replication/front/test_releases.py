"""Versions of dnsdist in other Debian suites: 1.9 in trixie, and 2.1 in sid, which reads YAML.

Each starts with a front's files, answers, purges before the front is in sync, and restarts with the same rotation.
"""

import subprocess
from pathlib import Path

import pytest

from replication.front.dnsdist_yaml import out_in
from replication.front.front import Front
from replication.front.front_config import read_config
from replication.wire.front_messages import Backend
from tests.oracle.powerdns import Unavailable, program_of_suite
from tests.ports import free_port
from tests.replication.agent.servers import PDNS_SERVER, short_directory
from tests.replication.front.enrolled import OTHER, ZONE, Site, enrolled_site
from tests.replication.front.servers import until
from tests.replication.panel import Panel

DNSDIST = "usr/bin/dnsdist"
TLS = ("tls_certificate = 'identity/node.pem'", "tls_key = 'identity/node.key'")

if PDNS_SERVER is None:
    pytest.skip("pdns_server is not installed", allow_module_level=True)


@pytest.mark.parametrize(
    ("suite", "version", "form"), [("trixie", "1.9.", "dnsdist.conf"), ("sid", "2.", "dnsdist.yml")]
)
def test_a_newer_dnsdist_is_a_front_as_well(panel: Panel, suite: str, version: str, form: str) -> None:
    with short_directory() as directory:
        try:
            program = program_of_suite(suite, DNSDIST, directory)
        except Unavailable as exc:
            pytest.skip(str(exc))
        dot, doh = free_port(), free_port()
        lines = (f"dnsdist = '{program}'", f"dot_port = {dot}", f"doh_port = {doh}", *TLS)
        with enrolled_site(panel, directory, *lines) as site:
            assert site.client.status().versions["dnsdist"].startswith(version)
            assert [path.name for path in site.config.state_dir.glob("dnsdist.[cy]*")] == [form]
            nothing_old_is_answered_once_a_change_is_in_sync(site)
            a_late_node_leaves_and_a_dnsdist_that_starts_anew_begins_without_it(site)
            whom_the_panel_takes_out_is_out_and_another_limit_starts_dnsdist_anew(site)
            assert {short_answer("+tls", dot), short_answer("+https", doh)} == {"192.0.2.10"}
            assert refusal(site, "AXFR", "+tcp") == "REFUSED"
            assert refusal(site, "SOA", "+opcode=NOTIFY") == "REFUSED"


def test_a_dnsdist_that_is_upgraded_in_place_gets_the_form_that_it_reads(panel: Panel) -> None:
    with short_directory() as directory:
        try:
            newer = program_of_suite("sid", DNSDIST, directory)
        except Unavailable as exc:
            pytest.skip(str(exc))
        program = directory / "dnsdist"
        program.write_text('#!/bin/sh\nexec dnsdist "$@"\n')
        program.chmod(0o755)
        lines = (f"dnsdist = '{program}'", f"dot_port = {free_port()}", f"doh_port = {free_port()}", *TLS)
        with enrolled_site(panel, directory, *lines) as site:
            late, [push] = site.publish(2, 0)
            push.join()
            until(lambda: site.push(late).position.sequence == 2, "the late node is out")
            assert site.config.conf_path.exists()
            newer.replace(program)
            site.dnsdist.kill()  # as the package does after it has installed the new program
            until(lambda: site.config.yaml_path.exists(), "what is installed reads YAML")
            until(lambda: site.client.status().versions["dnsdist"].startswith("2."), "the new one runs")
            until(lambda: site.rotation() == "ns1" and site.answers_at_all(), "with the rotation that was")
            assert site.answers() == {"192.0.2.2"}
            assert not site.config.conf_path.exists()
            site.nodes[1].client.push(late, len(late))
            until(lambda: site.rotation() == "ns1 ns2", "and looked after as before")
            another_build_of_the_same_release_is_told_who_is_out(site, program)


def another_build_of_the_same_release_is_told_who_is_out(site: Site, program: Path) -> None:
    # The agent compared only versions and kept the text of the former release: the file had no rotation.
    former = program.with_name("former")
    program.replace(former)
    version = f'"{former}" --version | sed "s/dns-over-https[^ ]*//"'
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] || exec "{former}" "$@"\n{version}\n')
    program.chmod(0o755)
    starting = Front(read_config(site.config.state_dir.parent / "front.toml"))
    assert starting.start_path() == site.config.yaml_path, "as the unit begins"
    starting.close()
    assert '"DoH"' not in site.config.yaml_path.read_text()
    until(lambda: site.rotation() == "ns1 ns2", "the other build runs")
    _, [push] = site.publish(3, 0)
    push.join()
    backends = site.settings().backends
    until(
        lambda: out_in(site.config.yaml_path.read_text(), backends) == {"ns2"}, "the late node is out in the file too"
    )


def nothing_old_is_answered_once_a_change_is_in_sync(site: Site) -> None:
    until(lambda: site.report().bypassed_zones == 0, "the cache answers")
    assert (site.answers(), site.answers(OTHER)) == ({"192.0.2.1"}, {"192.0.2.1"})
    assert site.answers_over_tcp() == {"192.0.2.1"}
    until(site.hits_grow, "answers come out of the cache")
    for last in range(2, 8):
        sealed, pushes = site.publish(last, 0, 1)
        assert site.push(sealed).position.sequence == last
        # TCP first: dnsdist 2.1's TCP threads apply rules a second late, and repeated the very first answer.
        assert site.answers_over_tcp() == {f"192.0.2.{last}"}
        assert site.answers() == {f"192.0.2.{last}"}
        for push in pushes:
            push.join()
    until(lambda: site.report().bypassed_zones == 0, "the zone is in the cache again")
    assert site.answers() == {"192.0.2.7"}


def a_late_node_leaves_and_a_dnsdist_that_starts_anew_begins_without_it(site: Site) -> None:
    sealed, [push] = site.publish(8, 0)
    push.join()
    site.push(sealed)
    until(lambda: site.client.ack().position.sequence == 8, "the late node is out")
    assert site.rotation() == "ns1"
    site.running.close()  # without notice
    site.dnsdist.kill()
    until(lambda: site.dnsdist.runs and site.answers_at_all(), "dnsdist runs again")
    assert site.answers() == {"192.0.2.8"}
    site.start_agent()
    until(lambda: site.client.status().answered == site.client.status().position, "the front goes on")
    site.nodes[1].client.push(sealed, len(sealed))
    until(lambda: site.rotation() == "ns1 ns2", "the node is back")


def whom_the_panel_takes_out_is_out_and_another_limit_starts_dnsdist_anew(site: Site) -> None:
    first, second = site.settings().backends
    starts = site.dnsdist.starts
    site.set_up(backends=(first, Backend(second.name, second.endpoint, out="is drained")))
    assert site.rotation() == "ns1"
    site.set_up(backends=(first, Backend(second.name, second.endpoint, 3)))
    until(lambda: site.rotation() == "ns1 ns2", "the node with another weight is asked")
    assert site.dnsdist.starts == starts
    site.set_up(queries_per_second=100_000)
    until(lambda: site.dnsdist.starts == starts + 1 and site.rotation() == "ns1 ns2", "it starts anew for a limit")
    sealed, pushes = site.publish(9, 0, 1)
    until(lambda: site.push(sealed).position.sequence == 9, "and is in sync")
    for push in pushes:
        push.join()
    assert site.answers() == site.answers_over_tcp() == {"192.0.2.9"}
    site.set_up(backends=(first,), queries_per_second=100_000)
    sealed, [push] = site.publish(10, 0)
    push.join()
    assert site.push(sealed).applied is None, "who is not a node of this front any more is not waited for"
    assert site.answers_over_tcp() == {"192.0.2.10"}
    assert site.dnsdist.starts == starts + 1


def short_answer(way: str, port: int) -> str:
    done = subprocess.run(
        ["kdig", way, "+short", "@127.0.0.1", "-p", str(port), f"www.{ZONE}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr


def refusal(site: Site, qtype: str, *words: str) -> str:
    port = str(site.config.listen[0].port)
    command = ["dig", "@127.0.0.1", "-p", port, ZONE, qtype, "+noall", "+comments", *words]
    header = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return header.partition("status: ")[2].partition(",")[0]
