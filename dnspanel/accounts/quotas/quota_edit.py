"""Change the quotas of users and teams. Verbs."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.quotas.quota_amounts import Kind, format_amount
from dnspanel.accounts.rights.grant_edit import refuse_at_or_above


def set_quotas(*, of: User | Team, quotas: Mapping[Kind, int | None], by: Author, now: datetime) -> None:
    """Set the quotas of a user or team. None means unlimited. The panel's settings apply to kinds that `quotas` lacks.

    Write changes to the audit log. Existing objects are kept, even if they exceed the new quota. Raise the errors of
    `refuse_at_or_above`.
    """
    model: type[User] | type[Team] = type(of)
    given = {str(kind): amount for kind, amount in quotas.items()}
    if isinstance(of, User):
        refuse_at_or_above(by, of)
    with transaction.atomic(durable=True):
        before = model.objects.select_for_update(no_key=True).values_list("quotas", flat=True).get(pk=of.pk)
        if before != given:
            model.objects.filter(pk=of.pk).update(quotas=given)
            audit.record(
                action="team.quotas" if isinstance(of, Team) else "person.quotas",
                by=by,
                now=now,
                target=of.name if isinstance(of, Team) else of.username,
                quotas=_text_of_quotas(given),
                before=_text_of_quotas(before),
            )
    of.quotas = given


def _text_of_quotas(quotas: Mapping[str, int | None]) -> str:
    described = ", ".join(f"{kind} {format_amount(Kind(kind), amount)}" for kind, amount in quotas.items())
    return described or "as in the settings"
