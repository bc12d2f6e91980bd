"""A real parent's delegation and glue, compared with the zone."""

import pytest

from dnspanel.accounts.models import Role
from dnspanel.transfer.cutover.parent_servers import Resolver
from dnspanel.transfer.vanity.parent import ask_parent
from dnspanel.zones.errors import Forbidden
from dnspanel.zones.models import KeptAddresses
from dnspanel.zones.settings.server_sets import Host, Servers
from tests.dnspanel.transfer.cutover.test_parent_servers import port
from tests.dnspanel.transfer.zone_templates.test_server_set_text import make_set
from tests.dnspanel.zones.conftest import MakeZone, alice, make_zone
from tests.people import NOW, make_person

__all__ = ["alice", "make_zone", "port"]

pytestmark = pytest.mark.django_db(transaction=True)


def resolver(port: int) -> Resolver:
    return Resolver("127.0.0.1", port, parent_port=port, allows=lambda address: True)


def test_what_is_left_to_do_at_the_parent_is_told_and_kept(port: int, make_zone: MakeZone) -> None:
    ada = make_person("ada", Role.ADMINISTRATOR)
    zone = make_zone("@ 60 NS ns1.old.test. | ns1.move.test.", "ns1 60 A 192.0.2.1", name="move.test.")
    made = make_set("Move", Servers((Host("ns1.move.test."),)), is_default=False)
    kept = KeptAddresses.objects.create(template=made, zone=zone, set_at=NOW, set_by=ada)
    assert [str(point.verdict) for point in ask_parent(kept=kept, by=ada, now=NOW, resolver=resolver(port))] == [
        "fine",
        "fine",
    ]
    kept.refresh_from_db()
    assert (kept.asked_at, [point["code"] for point in kept.points]) == (NOW, ["parent", "glue"])
    other = make_zone("@ 60 NS ns1.deep.er.test.", "ns1 60 A 192.0.2.1", name="deep.er.test.")
    kept = KeptAddresses.objects.create(template=made, zone=other, set_at=NOW, set_by=ada)
    delegation, glue = ask_parent(kept=kept, by=ada, now=NOW, resolver=resolver(port))
    assert delegation.lines[:2] == ("remove host.test.", "add ns1.deep.er.test.")
    assert glue.lines == ("ns1.deep.er.test. 192.0.2.1",)
    with pytest.raises(Forbidden):
        ask_parent(kept=kept, by=make_person("rita", Role.READER), now=NOW)


def test_a_parent_that_cannot_be_asked_is_told_so(make_zone: MakeZone, settings: object) -> None:
    ada, zone = make_person("ada", Role.ADMINISTRATOR), make_zone(name="move.test.")
    settings.DNS_RESOLVERS = ["127.0.0.1:1"]  # type: ignore[attr-defined]  # where nobody answers
    made = make_set("Move", Servers((Host("ns1.move.test."),)), is_default=False)
    kept = KeptAddresses.objects.create(template=made, zone=zone, set_at=NOW, set_by=ada)
    assert [str(point.verdict) for point in ask_parent(kept=kept, by=ada, now=NOW)] == ["not asked", "fine"]
