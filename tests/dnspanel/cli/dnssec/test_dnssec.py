"""Tests of `dnspanel dnssec`, `dnssec.dnssec_keys` and `dnssec.dnssec_rollovers`."""

import subprocess
from pathlib import Path

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import PERMISSIONS, Grant, Right
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.fleet.dnssec import node_answers
from dnspanel.fleet.models import Node, ParentCheck, UnprovenZone
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.fleet.conftest import create_active_node
from tests.dnspanel.zones.conftest import presigned_zone
from tests.dnspanel.zones.dnssec.test_key_material import bind_keys
from tests.people import alice as alice
from tests.people import make_person
from tests.ports import free_port


def test_zones_are_signed_as_one_publication_and_unsigned(run: Run) -> None:
    for name in ("a.test", "b.test"):
        assert run("zones", "create", name).code == 0
    planned = run("dnssec", "sign", "a.test", "b.test", "--nsec3", "--opt-out", "--dry-run")
    assert (planned.code, planned.err) == (0, "Nothing was written.\n")
    assert planned.out.splitlines()[1].split() == ["a.test.", "yes", "yes", "NSEC3,", "opt-out"]
    signed = run("dnssec", "sign", "a.test", "b.test", "--algorithm", "ed25519", "--split", "--reason", "policy")
    assert (signed.code, signed.err) == (0, "")
    assert "Signed b.test (revision 2)." in signed.out
    assert signed.out.endswith("To print the DS: dnspanel dnssec ds ZONE\n")
    assert Publication.objects.latest("sequence").reason == "policy"
    displayed = run("dnssec", "show", "a.test").out
    assert "signed      yes" in displayed
    assert "(ksk, ED25519)" in displayed
    assert "denial      NSEC\n" in displayed

    [ksk, zsk] = run("dnssec", "keys", "a.test", "--output", "json").json
    assert run("dnssec", "ds", "a.test").out.splitlines() == [f"a.test. IN DS {text}" for text in ksk["ds"]]
    assert [ksk["role"], zsk["role"], zsk["ds"]] == ["ksk", "zsk", []]
    assert "ED25519" in run("dnssec", "keys", "a.test").out
    for change in (("denial", "a.test", "--narrow"), ("cds", "a.test", "both", "--cdnskey")):
        assert run("dnssec", *change).code == 0
    found = run("dnssec", "show", "a.test", "--output", "json").json
    assert (found["denial"]["narrow"], found["cds"], found["cdnskey"]) == (True, [2, 4], True)
    assert run("dnssec", "cds", "a.test").code == 2
    assert run("dnssec", "cds", "a.test", "delete", input="n\n").code == 130
    assert "will replace its DS" in run("dnssec", "show", "a.test").out
    assert run("dnssec", "cds", "a.test", "delete", "--yes").code == 0
    assert "will remove the DS" in run("dnssec", "show", "a.test").out
    assert run("dnssec", "cds", "a.test", "none", "--no-cdnskey").code == 0
    assert run("dnssec", "signalling", "a.test", "on").code == 0
    assert run("dnssec", "show", "a.test", "--output", "json").json["signalling"] is True

    assert run("dnssec", "unsign", "a.test", input="n\n").code == 130
    assert run("dnssec", "unsign", "a.test", "b.test", input="y\n").code == 0
    assert run("dnssec", "keys", "a.test").err == "No keys.\n"
    assert (
        run("dnssec", "ds", "a.test").err
        == "a.test is not signed with a key that needs a DS. To sign the zone: dnspanel dnssec sign a.test\n"
    )
    refused = run("dnssec", "denial", "a.test", "--nsec3")
    assert (refused.code, refused.err) == (1, "Error: a.test. is not signed.\n")


def test_zones_lose_the_signatures_that_they_came_with(run: Run, alice: User) -> None:
    for name in ("a.test.", "b.test.", "c.test."):
        presigned_zone(alice, name=name, end="20991224000000")
    assert "presigned  2099-12-24" in " ".join(run("dnssec", "show", "a.test").out.split("  "))
    planned = run("dnssec", "unsign", "a.test", "b.test", "--dry-run")
    assert [line.split() for line in planned.out.splitlines()[1:]] == [
        [f"{name}.test.", "yes", "no", "–"] for name in "ab"
    ]
    assert run("dnssec", "unsign", "a.test", input="n\n").code == 130
    unsigned = run("dnssec", "unsign", "a.test", "b.test", input="y\n")
    assert unsigned.code == 0
    assert "The imported signatures are deleted" in unsigned.err
    assert not any(run("dnssec", "show", name, "--output", "json").json["signed"] for name in ("a.test", "b.test"))
    assert Publication.objects.count() == 4
    run("zones", "create", "d.test")
    run("dnssec", "sign", "d.test")
    refused = run("dnssec", "unsign", "c.test", "d.test", "--yes")
    assert refused.code == 1
    assert "c.test. is served with imported signatures" in refused.err


def test_keys_come_change_and_go(run: Run, tmp_path: Path) -> None:
    run("zones", "create", "example.test")
    added = run("dnssec", "key", "add", "example.test", "--algorithm", "15", "--inactive")
    assert added.code == 0
    [first] = run("dnssec", "keys", "example.test", "--output", "json").json
    assert added.out.endswith(f"The new key has the id {first['id']} and the tag {first['tag']}.\n")
    assert (first["algorithm"], first["active"], first["published"]) == (15, False, True)

    bind_keys(tmp_path, 13, ksk=False)
    files = sorted(str(path) for path in tmp_path.glob("K*"))
    assert run("dnssec", "key", "import", "example.test", *files, "--zsk").code == 2
    assert run("dnssec", "key", "import", "example.test", *files).code == 0
    [*_, second] = run("dnssec", "keys", "example.test", "--output", "json").json
    assert second["flags"] == 256
    text = key_material.generate(13).private_text
    assert run("dnssec", "key", "import", "example.test", "-", input=text).code == 0
    assert run("dnssec", "key", "import", "example.test", "-", input="no key").code == 2

    assert run("dnssec", "key", "set", "example.test", str(first["id"]), "--active").code == 0
    assert run("dnssec", "key", "set", "example.test", str(first["id"])).code == 2
    assert run("dnssec", "key", "delete", "example.test", str(second["id"]), input="y\n").code == 0
    left = queries.keys_of(Zone.objects.get())
    assert [(key.id == second["id"], key.active) for key in left] == [(False, True), (False, True)]


def test_a_key_is_exported_for_who_may(run: Run, tmp_path: Path) -> None:
    run("zones", "create", "example.test")
    run("dnssec", "sign", "example.test")
    [key] = run("dnssec", "keys", "example.test", "--output", "json").json
    export = ("dnssec", "key", "export", "example.test", str(key["id"]))
    assert "You don’t have permission" in run(*export).err
    alice = make_person("alice", Role.ADMINISTRATOR)
    terms = TokenTerms("keys", (Grant(frozenset(Right), everywhere=True),), PERMISSIONS[Role.ADMINISTRATOR])
    secret = create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret
    printed = run(*export, token=secret)
    assert key_material.dnskey_text(257, 13, key_material.read(printed.out).public) == key["dnskey"]
    folder = tmp_path / "keys"
    folder.mkdir()
    assert run(*export, "-d", str(folder), token=secret).code == 0
    private, public = folder / f"Kexample.test.+013+{key['tag']:05}.private", next(folder.glob("*.key"))
    assert (private.stat().st_mode & 0o777, private.read_text()) == (0o600, printed.out)
    ds = subprocess.run(["dnssec-dsfromkey", "-2", public], capture_output=True, text=True, check=True).stdout
    assert ds.split()[-1].lower() == key["ds"][0].split()[-1]
    assert "File exists" in run(*export, "-d", str(folder), token=secret).err


def test_a_rollover_is_begun_shown_and_cancelled(run: Run) -> None:
    assert run("zones", "create", "a.test").code == 0
    assert run("dnssec", "sign", "a.test").code == 0
    assert run("dnssec", "rollover", "show", "a.test").err == "Error: a.test has not had a rollover yet.\n"
    assert run("dnssec", "rollover", "list").err == "No rollover in progress.\n"
    possible = [
        each["kind"]
        for each in run("dnssec", "rollover", "kinds", "a.test", "--output", "json").json
        if not each["refusal"]
    ]
    assert possible == ["csk", "algorithm", "insecure", "secure"]
    begun = run("dnssec", "rollover", "begin", "a.test", "algorithm", "--algorithm", "15")
    assert (begun.code, begun.err) == (0, "Waiting for all nodes to serve this step.\n")
    assert "algorithm" in run("dnssec", "rollover", "list").out
    assert "kind              algorithm" in run("dnssec", "rollover", "show", "a.test").out
    refused = run("dnssec", "rollover", "begin", "a.test", "csk")
    assert (refused.code, refused.err) == (1, "Error: A rollover for a.test. is already in progress.\n")
    assert run("dnssec", "rollover", "cancel", "a.test").code == 0


def test_an_emergency_says_what_it_breaks_and_asks(run: Run) -> None:
    assert run("zones", "create", "a.test").code == 0
    assert run("dnssec", "sign", "a.test").code == 0
    stopped = run("dnssec", "rollover", "begin", "a.test", "csk", "--emergency", input="n\n")
    assert stopped.code == 130
    assert "SERVFAIL" in stopped.err
    assert run("dnssec", "rollover", "list").err == "No rollover in progress.\n"
    assert run("dnssec", "rollover", "begin", "a.test", "csk", "--emergency", "--yes").code == 0


def test_what_the_parent_has_and_what_nodes_answer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("zones", "create", "example.test")
    assert run("dnssec", "parent", "example.test", "--ask").code == 1
    run("dnssec", "sign", "example.test")
    assert "DS at parent: not checked yet" in run("dnssec", "parent", "example.test").out
    waiting = run("dnssec", "parent", "example.test", "--ask", "--timeout", "0")
    assert (waiting.code, waiting.err) == (1, "Error: The parent has not been checked yet. Try again later.\n")
    found = {"servers": {"a.test. 192.0.2.1": ["1 13 2 ab"], "b.test. 192.0.2.2": []}, "ttl": 60}
    ParentCheck.objects.update(
        state="partial", message="Some have it.", parent="test.", found=found, checked_at=timezone.now()
    )
    told = run("dnssec", "parent", "example.test").out
    assert "a.test. 192.0.2.1: 1 13 2 ab" in told
    assert "b.test. 192.0.2.2: no DS" in told
    assert run("dnssec", "parent", "example.test", "--output", "json").json["state"] == "partial"

    assert run("dnssec", "nodes", "example.test").err == "No nodes yet.\n"
    monkeypatch.setattr(node_answers, "SECONDS", 0.2)
    create_active_node()
    Node.objects.update(dns_address="127.0.0.1", dns_port=free_port())
    assert run("dnssec", "nodes", "example.test").out.splitlines()[1].split()[:2] == ["ns1", "silent"]
    [node] = run("dnssec", "nodes", "example.test", "--output", "json").json
    assert (node["node"], node["key_tags"]) == ("ns1", [])


def test_zones_that_do_not_validate_on_a_node_are_listed(run: Run) -> None:
    assert run("dnssec", "unproven").err == "Every zone validates on every node.\n"
    run("zones", "create", "example.test")
    node, zone, now = create_active_node(), Zone.objects.get(), timezone.now()
    UnprovenZone.objects.create(node=node, zone=zone, problem="no RRSIG", since=now, looked_at=now)
    row = run("dnssec", "unproven").out.splitlines()[1].split()
    assert (row[:2], row[-2:]) == (["example.test.", "ns1"], ["no", "RRSIG"])
    assert run("dnssec", "unproven", "--output", "json").json[0]["problem"] == "no RRSIG"
