"""Tests of `dnspanel templates`. Tests `cli.zone_runs` too."""

from collections.abc import Iterator
from functools import partial

import pytest

from dnspanel.accounts.models import Role
from dnspanel.transfer.zone_templates import runs
from dnspanel.zones.models import TemplateRun
from dnspanel.zones.runs import run_turns
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.cli.in_process import work_on
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.taken_back import REASON, refusing, take_back
from tests.dnspanel.transfer.zone_templates.conftest import template_maker
from tests.people import make_person


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """Run queued template runs until the test ends, as a Celery worker would."""
    yield from work_on(partial(run_turns.unfinished_ids, TemplateRun), runs.work_on_run)


def test_a_template_is_shown_applied_to_a_zone_and_to_many(run: Run, worker: None) -> None:
    assert run("templates", "list").err == "No templates.\n"
    template_maker(make_person("ada", Role.ADMINISTRATOR))()
    assert run("zones", "create", "a.test").code == 0
    assert run("zones", "create", "b.test").code == 0
    assert "Web" in run("templates", "list").out
    assert "ip (ipv4) Address" in run("templates", "show", "Web").out
    assert run("templates", "show", "Nothing").code == 2
    assert run("templates", "apply", "a.test", "Web", "--set", "ip").code == 2

    dry = run("templates", "apply", "a.test", "Web", "--set", "ip=192.0.2.1", "--dry-run")
    assert (dry.code, dry.err) == (0, "Nothing was written.\n"), dry
    assert "192.0.2.1" in dry.out
    assert "192.0.2.1" not in run("records", "list", "a.test").out
    assert run("templates", "apply", "a.test", "Web", "--set", "ip=192.0.2.1", "--keep").code == 0
    assert "192.0.2.1" in run("records", "list", "a.test").out
    assert run("templates", "apply", "a.test", "Web", "--set", "ip=x").code == 1

    assert run("records", "set", "b.test", "@", "A", "198.51.100.7").code == 0
    terms = ("templates", "run", "Web", "--search", "b.test", "--set", "ip=192.0.2.2")
    many = run(*terms)
    assert many.code == 0, many
    assert "b.test." in many.out
    assert many.err.endswith("Nothing was written. With --apply the job is carried out.\n")
    done = run(*terms, "--apply", "--overwrite", "--output", "json")
    assert (done.code, done.json["state"], done.json["counts"]) == (0, "done", {"change": 1}), done
    assert "192.0.2.2" in run("records", "list", "b.test").out
    assert "same" in run("templates", "run", "Web").err


def test_zones_that_were_taken_back_end_a_run_with_an_error(run: Run, worker: None, active_node: MakeNode) -> None:
    node = active_node("ns1")
    template_maker(make_person("ada", Role.ADMINISTRATOR))()
    assert run("zones", "create", "b.test").code == 0
    terms = ("templates", "run", "Web", "--search", "b.test", "--set", "ip=192.0.2.2")
    with refusing(2, lambda sequence: take_back(sequence, node)):
        done = run(*terms, "--apply", "--wait")
    assert done.code == 1
    assert f"Taken back, because the name servers could not answer with it: 1 zone. {REASON}" in done.err
