"""The form for grants to tokens, users and teams: rights over zones, optionally limited to names and types."""

from typing import Any, ClassVar

from django import forms

from dnspanel.accounts.actors.actors import Grant, Permission, Right, actor_of, can
from dnspanel.accounts.errors import GrantRefused
from dnspanel.accounts.models import Team
from dnspanel.accounts.rights import grant_edit
from dnspanel.database.field_copies import copy_fields
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.describe_grant import RIGHT_DESCRIPTIONS
from dnspanel.web.frame.all_or_some import ALL, SOME, AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import input_faults, mono_field, split_list
from dnspanel.zones.rights import access
from dnspanel.zones.settings.settings_of_zone import canonical_tags
from replication.dns import names, rdtypes
from replication.errors import BadName

LONGEST_LIST = 20_000


class GrantForm(AllOrSomeForm):
    """The form for a grant: rights, zones, tags, teams, names and types. It accepts only zones visible to `person`."""

    all_or_some: ClassVar[tuple[AllOrSome, ...]] = (
        AllOrSome(("zones", "tags", "teams"), default=SOME),
        AllOrSome(
            ("names", "types"),
            "records",
            gettext_lazy("Records"),
            gettext_lazy("All records"),
            gettext_lazy("Only these names or types"),
            default=ALL,
        ),
    )

    rights = forms.MultipleChoiceField(
        label=gettext_lazy("Rights"),
        choices=[(right.value, RIGHT_DESCRIPTIONS[right]) for right in Right],
        initial=[Right.READ.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Select at least one right.")},
    )
    zones = mono_field(
        gettext_lazy("Zone names"),
        LONGEST_LIST,
        gettext_lazy("Enter zone names separated by spaces or line breaks."),
        rows=2,
    )
    tags = mono_field(
        gettext_lazy("Zones by tag"),
        4000,
        gettext_lazy("Enter tags. Zones that get one of these tags later are also included."),
    )
    teams = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Zones by team"), required=False, coerce=int, widget=forms.CheckboxSelectMultiple
    )
    names = mono_field(
        gettext_lazy("Names"),
        LONGEST_LIST,
        gettext_lazy(
            "Enter names relative to the zone, or leave empty for any name. @ is the apex, and * matches "
            "anything: www *.dev _acme-challenge*"
        ),
        rows=2,
    )
    types = mono_field(
        gettext_lazy("Types"), 1000, gettext_lazy("Enter record types, or leave empty for any type: TXT CAA")
    )

    def __init__(self, *args: Any, person: access.Person, **kwargs: Any) -> None:
        super().__init__(*args, counted_for=person, **kwargs)
        self.person = person
        choices = [(team.pk, team.name) for team in teams_known_to(person)]
        field = self.fields["teams"]
        assert isinstance(field, forms.TypedMultipleChoiceField)
        field.choices = choices
        if not choices:
            del self.fields["teams"]

    def clean_zones(self) -> frozenset[int]:
        return zone_ids(self.person, self.cleaned_data["zones"])

    def clean_tags(self) -> frozenset[str]:
        with input_faults():
            return frozenset(canonical_tags(split_list(self.cleaned_data["tags"])))

    def clean_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(split_list(self.cleaned_data["names"])))

    def clean_types(self) -> frozenset[int]:
        with input_faults():
            return frozenset(rdtypes.type_from_text(word) for word in split_list(self.cleaned_data["types"]))

    def clean(self) -> dict[str, Any]:
        """Add the `Grant` to the cleaned data if every field is valid."""
        super().clean()
        cleaned = self.cleaned_data
        if self.errors:
            return cleaned
        grant = copy_fields(
            Grant,
            cleaned,
            rights=frozenset(map(Right, cleaned["rights"])),
            everywhere=cleaned["where"] == ALL,
            teams=frozenset(cleaned.get("teams", ())),
        )
        with self.catching(GrantRefused):
            grant_edit.refuse_bad_grant(grant)
        cleaned["grant"] = grant
        return cleaned


def teams_known_to(person: access.Person) -> list[Team]:
    """Return the teams to choose from: all teams if the person has the permission `people`, otherwise their own."""
    teams = Team.objects.order_by("name")
    if can(person, Permission.PEOPLE):
        return list(teams)
    actor = actor_of(person)
    return [] if actor is None else list(teams.filter(memberships__user=actor.user))


def zone_ids(person: access.Person, text: str) -> frozenset[int]:
    """Parse zone names, and return the zones' ids. Raise ValidationError for a name that is invalid or not visible."""
    requested, wrong = [], []
    for word in dict.fromkeys(split_list(text)):
        try:
            requested.append(names.parse(word))
        except BadName as exc:
            wrong.append(str(exc))
    found = dict(access.zones_visible_to(person).filter(name__in=requested).values_list("name", "pk"))
    wrong += [
        gettext("Zone not found: {name}").format(name=name) for name in dict.fromkeys(requested) if name not in found
    ]
    if wrong:
        raise forms.ValidationError(wrong[:10])
    return frozenset(found.values())
