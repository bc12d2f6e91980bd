"""Forms that show the rights of a user or token over an RRset, with the reasons."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import Q
from django.utils import timezone

from dnspanel.accounts.actors.actors import Actor, Right
from dnspanel.accounts.actors.explain_rights import Reason, Subject, reasons_for, reasons_of, scope_of
from dnspanel.accounts.actors.find_people import has_username
from dnspanel.accounts.errors import TokenDead
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.people.who_may import people_visible_to
from dnspanel.accounts.tokens.tokens import refuse_dead, tokens_visible_to
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.describe_grant import RIGHT_DESCRIPTIONS
from dnspanel.web.frame.forms import OwnClockField, PanelForm, input_faults, mono_field
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rights.rights_here import subject_of
from dnspanel.zones.rights.rights_history import Since, rights_since
from dnspanel.zones.rights.tsig_permissions import rights_by_key
from replication.dns import names, rdtypes

# The rights over an existing zone.
_RIGHTS = tuple(right for right in Right if right != Right.CREATE_ZONE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A right over an RRset: its description, whether the user or token has it, the reasons, and why it is missing."""

    description: str
    may: bool
    reasons: tuple[str, ...]
    refusal: str = gettext_lazy("No role, team or grant gives this right")


class AboutRRsetForm(PanelForm):
    """The base class of forms that check rights over an existing or possible RRset. Subclasses choose the zone."""

    without_type: int | None = rdtypes.A  # the type if the field is empty
    name = mono_field(None, 1100, placeholder="www")
    type = mono_field(gettext_lazy("Type"), 20, placeholder="A")

    def zone_meant(self) -> Zone | None:
        """Return the zone to check, or None if the input doesn't name a zone."""
        raise NotImplementedError

    def clean_name(self) -> str:
        zone, text = self.zone_meant(), self.cleaned_data["name"].strip()
        if zone is None or not text:
            return ""
        with input_faults():
            name = names.parse(text, zone.name)
        if not names.is_within(name, zone.name):
            raise forms.ValidationError(gettext("{name} is not in {name2}").format(name=name, name2=zone.name))
        return name

    def clean_type(self) -> int | None:
        text = self.cleaned_data["type"].strip()
        with input_faults():
            return rdtypes.type_from_text(text) if text else self.without_type

    def subject(self, zone: Zone) -> Subject:
        """Return the object of the check: an RRset, or the zone if the name is empty. The form must be valid."""
        return subject_of(zone, self.cleaned_data["name"], self.cleaned_data["type"])


class ExplainRightsForm(AboutRRsetForm):
    """The form for a zone, a name and a type. Its page shows a person's rights over the zone or RRset, with reasons."""

    zone = mono_field(None, 1100, required=True)
    field_order = ("zone", "name", "type")

    def __init__(self, *args: Any, reader: access.Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reader = reader

    def clean_zone(self) -> Zone:
        with input_faults():
            return access.zone_for_reading(self.reader, self.cleaned_data["zone"])

    def zone_meant(self) -> Zone | None:
        return self.cleaned_data.get("zone")

    def verdicts(self, person: User) -> tuple[Verdict, ...]:
        """Return a verdict for every right over the zone or RRset in the form. The form must be valid."""
        return verdicts_of_person(reasons_of(person), self.subject(self.cleaned_data["zone"]))


class WhoMayForm(AboutRRsetForm):
    """A form for a person or token, an RRset in one zone and a past time. An empty `who` means the signed-in user."""

    who = mono_field(
        gettext_lazy("Person or token"),
        1100,
        gettext_lazy("Enter a user name, the visible start of a token, or the name of a TSIG key."),
        placeholder=gettext_lazy("you"),
    )
    at = OwnClockField(label=gettext_lazy("Time"), required=False)
    field_order = ("who", "name", "type", "at")

    def __init__(self, *args: Any, zone: Zone, reader: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone, self.reader = zone, reader

    def zone_meant(self) -> Zone | None:
        return self.zone

    def clean_who(self) -> User | Token:
        text = self.cleaned_data["who"].strip()
        if not text:
            return self.reader.user
        return person_or_token(text, self.reader)

    def clean_at(self) -> datetime | None:
        at: datetime | None = self.cleaned_data["at"]
        if at is not None and at > timezone.now():
            raise forms.ValidationError(gettext("Enter a time in the past."))
        if at is not None and isinstance(self.cleaned_data.get("who"), Token):
            raise forms.ValidationError(gettext("To check a time in the past, enter a person."))
        return at

    def since(self) -> Since | None:
        """Return the changes to the person's rights over the zone since the requested time.

        Return None if no time was requested. The form must be valid.
        """
        who, at = self.cleaned_data["who"], self.cleaned_data["at"]
        if at is None:
            return None
        return rights_since(reader=self.reader, person=who, zone=self.zone, at=at)

    def verdicts(self, now: datetime) -> tuple[Verdict, ...]:
        """Return a verdict for every right of the person or token in the form. The form must be valid."""
        who, subject = self.cleaned_data["who"], self.subject(self.zone)
        if isinstance(who, User):
            return verdicts_of_person(reasons_of(who), subject)
        return _verdicts_of_token(who, subject, self.zone, now)


def person_or_token(text: str, reader: Actor) -> User | Token:
    """Return the person with this username, or the token with this visible prefix or TSIG key name.

    Raise ValidationError if neither exists, or if the reader isn't allowed to see the person or token.
    """
    person = people_visible_to(reader).filter(has_username(text)).first()
    if person is not None:
        return person
    called = Q(prefix=text.rstrip("….")) & ~Q(prefix="") | Q(tsig_name=text.lower().rstrip(".") + ".")
    return first_or(
        tokens_visible_to(reader).filter(called).order_by("-pk"),
        lambda: forms.ValidationError(gettext("You don’t have access to a person or token with this name.")),
    )


def verdicts_of_person(reasons: Collection[Reason], subject: Subject) -> tuple[Verdict, ...]:
    """Return a verdict for every right over the subject. `reasons` has every reason why the person has a right."""
    found = ((right, reasons_for(reasons, right, subject)) for right in _RIGHTS)
    return tuple(
        Verdict(RIGHT_DESCRIPTIONS[right], bool(given_by), tuple(each.description for each in given_by))
        for right, given_by in found
    )


def _verdicts_of_token(token: Token, subject: Subject, zone: Zone, now: datetime) -> tuple[Verdict, ...]:
    """Return a verdict for every right: the owner's rights, limited by the token's scope and, for some keys, the zone.

    A revoked or expired token has no rights.
    """
    try:
        refuse_dead(token, now)
    except TokenDead as exc:
        return tuple(Verdict(RIGHT_DESCRIPTIONS[right], may=False, reasons=(), refusal=str(exc)) for right in _RIGHTS)
    owner = gettext("token owner {username}").format(username=token.owner.username)
    reasons, scope = reasons_of(token.owner), scope_of(token)
    named = rights_by_key(zone).get(token.tsig_name or "", frozenset()) if token.needs_permission else frozenset(Right)
    found = []
    for right in _RIGHTS:
        by_owner = reasons_for(reasons, right, subject)
        if not reasons_for(scope, right, subject):
            refusal = gettext("The token’s scope doesn’t include this right")
        elif right not in named:
            refusal = gettext("The zone doesn’t allow this right for the key")
        else:
            refusal = (
                ""
                if by_owner
                else gettext("The token’s scope includes this right, but {owner} doesn’t have it").format(owner=owner)
            )
        given_by = tuple(
            gettext("{owner}: {description}").format(owner=owner, description=each.description) for each in by_owner
        )
        found.append(Verdict(RIGHT_DESCRIPTIONS[right], not refusal, (gettext("Token scope"), *given_by), refusal))
    return tuple(found)
