"""Publications after which a zone does not validate, and that somebody wants all the same. Verbs."""

from datetime import datetime

from dnspanel.accounts.actors.actors import Author, user_of
from dnspanel.accounts.audit import audit
from dnspanel.zones.models import AcceptedBreak, Publication


def accept_break(*, publication: Publication, by: Author, reason: str, now: datetime) -> None:
    """The publisher lets this publication pass, whatever it breaks; in the caller's transaction. Idempotent."""
    _, is_new = AcceptedBreak.objects.get_or_create(
        publication=publication, defaults={"accepted_at": now, "accepted_by": user_of(by), "reason": reason}
    )
    if is_new:
        audit.record(
            action="dnssec.accept_break", by=by, now=now, target=f"sequence {publication.sequence}", reason=reason
        )
