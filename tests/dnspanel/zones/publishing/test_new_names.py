"""Names of new zones are checked before the form is sent."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import Membership, Role, Team, User
from dnspanel.zones.errors import NameOfOthers, NameReserved, NameTaken, PublicSuffix, ReverseName
from dnspanel.zones.publishing.new_names import refusals_of
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person


def test_every_name_is_told_its_own_reason_in_a_fixed_number_of_queries(alice: User, make_zone: MakeZone) -> None:
    make_zone(name="taken.test.")
    member = make_person("mia", Role.MEMBER)
    Membership.objects.create(team=Team.objects.create(name="Web", created_at=NOW), user=member, role=Role.EDITOR)
    names = [
        "good.test.", "taken.test.", "com.", "192.0.2.0/24.", "position.dnspanel.invalid.", "x.taken.test.", "b.test.",
    ]  # fmt: skip
    with CaptureQueriesContext(connection) as few:
        found = refusals_of(names, member)
    assert {name: type(refusal) for name, refusal in found.items()} == {
        "taken.test.": NameTaken,
        "com.": PublicSuffix,
        "192.0.2.0/24.": ReverseName,
        "position.dnspanel.invalid.": NameReserved,
        "x.taken.test.": NameOfOthers,
    }
    assert "taken.test" not in str(found["x.taken.test."]).replace("x.taken.test", "")  # mia isn't allowed to know it
    with CaptureQueriesContext(connection) as many:
        refusals_of([f"z{number}.test." for number in range(500)], member)
    assert len(many) <= len(few)


def test_nothing_stands_against_most_names(alice: User, make_zone: MakeZone) -> None:
    make_zone(name="taken.test.")
    assert refusals_of(["one.test.", "x.taken.test."], alice) == {}
    assert refusals_of([], alice) == {}
