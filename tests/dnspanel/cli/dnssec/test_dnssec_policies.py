"""Tests of `dnspanel dnssec policy`."""

from collections.abc import Iterator
from functools import partial

import pytest
from django.utils import timezone

from dnspanel.accounts.models import Role
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.models import PolicyRun
from dnspanel.zones.runs import policy_runs, run_turns
from dnspanel.zones.signing import policies
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.cli.in_process import work_on
from tests.people import make_person


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """Run queued policy runs until the test ends, as a Celery worker would."""
    yield from work_on(partial(run_turns.unfinished_ids, PolicyRun), policy_runs.work_on_run)


def test_zones_are_brought_to_what_their_policies_say(run: Run, worker: None) -> None:
    admin = make_person("ada", Role.ADMINISTRATOR)
    made = policies.create_policy(name="Strict", terms=Terms(algorithm=15, split=True), by=admin, now=timezone.now())
    for name in ("a.test", "b.test"):
        assert run("zones", "create", name).code == 0
    assert "Strict" in run("dnssec", "policy", "list").out
    assert "policy   –" in run("dnssec", "policy", "show", "a.test").out
    assert run("dnssec", "policy", "set", "a.test", "Loose").code == 2
    assert "Strict" in run("dnssec", "policy", "set", "a.test", "Strict").out
    assert "differs" in run("dnssec", "policy", "show", "a.test").out

    dry = run("dnssec", "policy", "run", "--policy", str(made.pk))
    assert dry.code == 0, dry
    assert dry.out.splitlines()[1].split()[:2] == ["a.test.", "sign"]
    assert "b.test." not in dry.out
    assert dry.err.endswith("Nothing was written. With --apply the job is carried out.\n")
    assert run("dnssec", "keys", "a.test").err == "No keys.\n"
    applied = run("dnssec", "policy", "run", "--search", "a.test", "--apply", "--output", "json")
    assert (applied.code, applied.json["state"], applied.json["counts"]) == (0, "done", {"sign": 1}), applied
    assert [key["role"] for key in run("dnssec", "keys", "a.test", "--output", "json").json] == ["ksk", "zsk"]
    assert run("dnssec", "policy", "unset", "a.test").code == 0
    assert "policy   –" in run("dnssec", "policy", "show", "a.test").out
