"""The step bar of an import, and the texts of its states."""

import pytest

from dnspanel.transfer.models import ImportJob, State
from dnspanel.web.imports.steps import STEPS, badge_of, first_steps, step_of, steps_of


def job_in(state: str, **fields: object) -> ImportJob:
    return ImportJob(pk=7, state=state, **fields)


@pytest.mark.parametrize("state", State.values)
def test_every_state_has_a_step_and_a_mark(state: str) -> None:
    job = job_in(state)
    assert step_of(job) in STEPS
    assert badge_of(job).text
    assert len(steps_of(job)) == len(STEPS)


@pytest.mark.parametrize(
    ("state", "step"),
    [("uploading", "source"), ("scanning", "scan"), ("planned", "dry-run"), ("applying", "apply"), ("done", "report")],
)
def test_the_bar_is_done_up_to_where_the_job_is(state: str, step: str) -> None:
    steps = steps_of(job_in(state))
    at = STEPS.index(step)
    assert all(each.is_done for each in steps[:at])
    assert not any(each.is_done or each.is_now for each in steps[at + 1 :])


def test_a_job_that_waits_for_a_go_ahead_leads_back_to_its_choices() -> None:
    choose = steps_of(job_in(State.PLANNED))[STEPS.index("choose")]
    assert choose.url == "/imports/7/?step=choose"
    assert steps_of(job_in(State.APPLYING))[STEPS.index("choose")].url == ""


def test_a_cancelled_job_shows_where_it_was_stopped() -> None:
    steps = steps_of(job_in(State.CANCELLED, scan_seconds=2.0, items=3))
    assert [each.text for each in steps if each.is_bad] == ["Choose"]


def test_a_paused_job_says_so_before_all_else() -> None:
    assert badge_of(job_in(State.APPLYING, paused=True)).text == "paused"


def test_before_there_is_a_job_the_source_is_the_step() -> None:
    assert [each.text for each in first_steps() if each.is_now] == ["Source"]
