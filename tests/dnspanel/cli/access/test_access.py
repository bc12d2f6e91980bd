"""Tests of `dnspanel access`."""

import json

from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission
from dnspanel.accounts.models import Role
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.cli.conftest import Run
from tests.people import make_person


def test_a_grant_is_seen(run: Run) -> None:
    run("zones", "create", "example.test")
    admin = make_person("ada", Role.ADMINISTRATOR)
    terms = TokenTerms("people", (Grant(EVERY_RIGHT, everywhere=True),), permissions=frozenset({Permission.PEOPLE}))
    token = create_token(owner=admin, terms=terms, by=admin, now=timezone.now()).secret
    oda = make_person("oda", Role.MEMBER)
    scope = {"rights": ["read", "change"], "zones": ["example.test"], "names": ["www"], "types": ["A"]}
    made = run("api", "POST", "/grants", "--input", "-", input=json.dumps(scope | {"user": oda.pk}), token=token).json
    listed = run("access", "people", "example.test", token=token)
    line = next(line for line in listed.out.splitlines() if line.startswith("oda"))
    assert f"Grant {made['id']}" in line
    assert "change, read" in line
    assert run("access", "tokens", "example.test", token=token).code == 0
    of_www, of_mail = (run("access", "people", "example.test", name, "A", token=token).out for name in ("www", "mail"))
    assert "oda" in of_www
    # The right to read covers the whole zone, even if the grant is limited to names.
    assert "change" not in next(line for line in of_mail.splitlines() if line.startswith("oda"))
    may = run("access", "may", "ODA", "example.test", "www", "A", token=token)
    [line] = [line for line in may.out.splitlines() if line.startswith("change")]
    assert line.split()[:2] == ["change", "yes"]
    assert f"Grant {made['id']}" in line
    now = f"{timezone.now():%Y-%m-%dT%H:%M:%SZ}"
    was = run("access", "may", "oda", "example.test", "--at", now.replace("20", "10", 1), token=token)
    assert "oda didn’t have an account then." in was.err
    sure = run("access", "may", "oda", "example.test", "mail", "A", "--at", now, "--output", "json", token=token).json
    assert {each["right"]: each["allowed"] for each in sure["rights"]}["change"] is False
    assert "since" in sure
    assert run("access", "may", "nobody", "example.test", token=token).code == 1
    assert run("access", "may", "oda", "example.test", "www", token=token).code == 2
    assert run("api", "DELETE", f"/grants/{made['id']}", token=token).code == 0
    assert "oda" not in run("access", "people", "example.test", token=token).out
