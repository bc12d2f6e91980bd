"""The first row of a query, or an error (`database.first_rows`)."""

import pytest

from dnspanel.accounts.errors import TeamUnknown
from dnspanel.accounts.models import Team
from dnspanel.database.first_rows import first_or

pytestmark = pytest.mark.django_db


def test_a_query_without_rows_raises_the_error_of_the_domain() -> None:
    with pytest.raises(TeamUnknown):
        first_or(Team.objects.all(), TeamUnknown)
