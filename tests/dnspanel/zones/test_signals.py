"""The signal that announces new publications in the log."""

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import revision
from dnspanel.zones.signals import published
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW


def test_the_bell_rings_after_commit_and_its_failure_does_not_fail_the_edit(
    bob: User, zone: Zone, django_capture_on_commit_callbacks: object
) -> None:
    heard = []

    def hear(sequence: int, **_: object) -> None:
        heard.append(sequence)
        raise RuntimeError("the broker is dead")

    published.connect(hear)
    try:
        draft.replace_rrset(author=bob, zone=zone, rrset=rr("a 300 A 192.0.2.7"), now=NOW)
        with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
            publication = revision.publish(acting=Acting(bob, "web", NOW))
            assert heard == []
    finally:
        published.disconnect(hear)
    assert heard == [publication.sequence]
