"""The number of modules that run for one record edit, which a newcomer would have to read."""

import sys

import pytest
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.publish.encoding.encode import encode_step
from tests.dnspanel.publish.conftest import publisher_directory
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.web.editor.review.test_review import REVIEW, see
from tests.modules_run import modules_run

__all__ = ["publisher_directory"]

EDITOR = "/zones/example.test./"
# Per step and in total: the counted number, plus two at most. A change that needs more modules explains this in its
# message; one that needs fewer lowers the number.
MOST = {"opened": 83, "typed": 73, "reviewed": 85, "published": 60, "followed": 56, "encoded": 53}
MOST_UNTIL_PUBLISHED, MOST_IN_ALL = 110, 175


def edit(client: Client, value: str) -> dict[str, set[str]]:
    """Edit a record through the pages, and return the modules that each step ran."""
    with modules_run() as opened:
        assert client.get(EDITOR).status_code == 200
    with modules_run() as typed:
        response = client.post(f"{EDITOR}quick/", {"line": f"www 300 A {value}"}, headers=HTMX)
        assert response.status_code == 200
    with modules_run() as reviewed:
        hidden = see(client, REVIEW)
    with modules_run() as published:
        response = client.post(REVIEW, hidden)
        assert response.status_code == 302
    with modules_run() as followed:
        assert client.get(response["Location"]).status_code == 200
    with modules_run() as encoded:
        assert encode_step(now=timezone.now()) is not None
    return {
        "opened": opened,
        "typed": typed,
        "reviewed": reviewed,
        "published": published,
        "followed": followed,
        "encoded": encoded,
    }


@pytest.mark.django_db(transaction=True)
def test_an_edit_runs_through_few_modules(browser: Browser, make_zone: MakeZone, alice: User) -> None:
    make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.9")
    client = browser(alice)
    edit(client, "192.0.2.2")  # this imports the modules
    steps = edit(client, "192.0.2.3")
    found = {name: len(paths) for name, paths in steps.items()}
    until_published = len(steps["typed"] | steps["reviewed"] | steps["published"])
    in_all = len(set.union(*steps.values()))
    sys.stdout.write(f"modules of an edit: {found}, until it is published {until_published}, in all {in_all}\n")
    assert {name: count for name, count in found.items() if count > MOST[name]} == {}
    assert until_published <= MOST_UNTIL_PUBLISHED
    assert in_all <= MOST_IN_ALL
