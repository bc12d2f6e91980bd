"""Record publications that a person allowed although they break a zone's DNSSEC validation. Verbs."""

from datetime import datetime

from dnspanel.accounts.actors.actors import Author, user_of
from dnspanel.accounts.audit import audit
from dnspanel.zones.models import AcceptedBreak, Publication


def accept_break(*, publication: Publication, by: Author, reason: str, now: datetime) -> None:
    """Allow a publication that breaks validation. Runs in the caller's transaction. A second call changes nothing."""
    _, is_new = AcceptedBreak.objects.get_or_create(
        publication=publication, defaults={"accepted_at": now, "accepted_by": user_of(by), "reason": reason}
    )
    if is_new:
        audit.record(
            action="dnssec.accept_break", by=by, now=now, target=f"sequence {publication.sequence}", reason=reason
        )
