"""Fixtures of the tests of people."""

from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie
from tests.people import dora as dora
