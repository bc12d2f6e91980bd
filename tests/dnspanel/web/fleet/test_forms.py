"""Forms of the fleet's nodes."""

from datetime import UTC, datetime, timedelta

import pytest

from dnspanel.fleet.models import NodeGroup
from dnspanel.web.fleet.forms import DrainForm, NewNodeForm, NodeDescriptionForm

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_a_drain_ends_after_the_hours_that_were_chosen_or_when_somebody_resumes() -> None:
    for hours, until in (("4", NOW + timedelta(hours=4)), ("0", None), ("", None)):
        form = DrainForm({"hours": hours})
        assert form.is_valid()
        assert form.until(NOW) == until
    assert not DrainForm({"hours": "3"}).is_valid()
    assert not DrainForm({"reason": "x" * 201}).is_valid()


@pytest.mark.django_db
def test_tags_are_words_between_blanks_or_commas() -> None:
    group = NodeGroup.objects.create(name="canary", order=1)
    form = NodeDescriptionForm({"group": group.pk, "tags": "berlin, anycast  edge,"})
    assert form.is_valid()
    assert form.cleaned_data == {"group": group, "tags": ["berlin", "anycast", "edge"], "public_addresses": []}
    assert "canary" in str(form["group"])


@pytest.mark.django_db
def test_every_release_that_nodes_may_have_is_offered() -> None:
    page = str(NewNodeForm()["schema"])
    assert [release in page for release in ("4.7", "4.9", "5.1")] == [True] * 3
