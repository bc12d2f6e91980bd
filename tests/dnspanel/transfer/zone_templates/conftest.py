"""Fixtures for tests of zone templates."""

from collections.abc import Callable

import pytest

from dnspanel.accounts.models import Team, User
from dnspanel.transfer.zone_templates import edit_template
from dnspanel.transfer.zone_templates.edit_template import Head, Text
from dnspanel.zones.models import TemplateKind, ZoneTemplate
from dnspanel.zones.settings.template_text import Variable, VariableKind
from tests.dnspanel.zones.conftest import alice as alice
from tests.dnspanel.zones.conftest import bob as bob
from tests.dnspanel.zones.conftest import charlie as charlie
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import NOW

IP = Variable("ip", "Address", VariableKind.IPV4)
MX = Variable("mx", "Mail server", VariableKind.HOSTNAME, "mx.example.net.")
WEB = "$TTL 300\n@ A {{ ip }}\nblog CNAME @\n@ MX 10 {{ mx }}\n"

MakeTemplate = Callable[..., ZoneTemplate]


def template_maker(author: User) -> MakeTemplate:
    """Return a function that creates templates as this person, panel-wide or for a team."""

    def make_template(
        text: str = WEB,
        *variables: Variable,
        name: str = "Web",
        kind: str = TemplateKind.ZONE,
        team: Team | None = None,
    ) -> ZoneTemplate:
        content = Text(text, variables or ((IP, MX) if text == WEB else ()))
        return edit_template.create_template(head=Head(name, team), kind=kind, content=content, by=author, now=NOW)

    return make_template


@pytest.fixture
def make_template(alice: User) -> MakeTemplate:
    return template_maker(alice)


@pytest.fixture
def template(make_template: MakeTemplate) -> ZoneTemplate:
    """Create a template for a web site."""
    return make_template()
