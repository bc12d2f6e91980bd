"""Fixtures for tests of accounts."""

from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie
from tests.people import dora as dora
