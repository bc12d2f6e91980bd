"""What beat does for zones."""

from datetime import timedelta

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.zones import edit
from dnspanel.zones.models import Zone
from dnspanel.zones.tasks import empty_trash, maintain_search_index
from tests.dnspanel.zones.conftest import MakeZone


def test_the_trash_is_emptied_and_the_task_says_so(bob: User, zone: Zone) -> None:
    edit.delete_zone(zone=zone, author=bob, channel="web", now=timezone.now() - timedelta(days=31))
    assert empty_trash() == "emptied trash zones=1 keys=0"
    assert empty_trash() == "emptied trash zones=0 keys=0"


def test_what_waits_to_be_searched_is_sorted_in_once(make_zone: MakeZone) -> None:
    maintain_search_index()
    make_zone("www 300 A 192.0.2.1")
    assert maintain_search_index() == "tended search pages=1"
    assert maintain_search_index() == "tended search pages=0"
