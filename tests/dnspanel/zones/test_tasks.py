"""The periodic tasks for zones."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Complaint, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.tasks import empty_trash, look_at_what_is_published, maintain_search_index
from tests.dnspanel.zones.conftest import MakeZone


def test_the_trash_is_emptied_and_the_task_says_so(bob: User, zone: Zone) -> None:
    edit.delete_zone(zone=zone, acting=Acting(bob, "web", timezone.now() - timedelta(days=31)))
    assert empty_trash() == "emptied trash zones=1 keys=0 drafts=0"
    assert empty_trash() == "emptied trash zones=0 keys=0 drafts=0"


def test_what_waits_to_be_searched_is_sorted_in_once(make_zone: MakeZone) -> None:
    maintain_search_index()
    make_zone("www 300 A 192.0.2.1")
    assert maintain_search_index() == "tended search pages=2"  # of the indexes on rdata and name
    assert maintain_search_index() == "tended search pages=0"


@pytest.mark.django_db(transaction=True)
def test_what_is_published_is_looked_at(make_zone: MakeZone) -> None:
    make_zone("a 300 CNAME gone")
    look_at_what_is_published()
    assert Complaint.objects.count() == 1
