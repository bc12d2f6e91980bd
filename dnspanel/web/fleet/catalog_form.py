"""Forms for consumer catalogs: to follow a catalog, to change its members' settings, and to set a group's rule."""

from typing import Any

from django import forms

from dnspanel.accounts.models import Team
from dnspanel.catalogs import set_up_catalogs
from dnspanel.catalogs.models import Catalog, Rule
from dnspanel.catalogs.set_up_catalogs import CatalogTerms, RuleTerms
from dnspanel.primaries import set_up_primaries as primaries
from dnspanel.texts import gettext_lazy
from dnspanel.web.frame.all_or_some import ALL, AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import PanelForm, PublishingForm, input_faults, mono_field, number_field
from dnspanel.web.frame.primaries_form import PrimariesForm
from replication.dns import names


class TeamAndTagsForm(PanelForm):
    """A form with the team and tags for catalog members."""

    team = forms.ModelChoiceField(
        Team.objects.order_by("name"), label=gettext_lazy("Team"), required=False, empty_label=gettext_lazy("No team")
    )
    tags = mono_field(None, 1000, gettext_lazy("Separate tags with spaces."))

    def _team_and_tags(self) -> tuple[int | None, list[str]]:
        given = self.cleaned_data
        return (given["team"].pk if given["team"] else None), given["tags"].split()


class CatalogForm(AllOrSomeForm, TeamAndTagsForm):
    """The form for the settings of a catalog's members."""

    all_or_some = (
        AllOrSome(
            ("within",),
            "members",
            gettext_lazy("Allowed members"),
            gettext_lazy("Any zone"),
            gettext_lazy("Only zones in these zones"),
            default=ALL,
        ),
    )

    within = mono_field(
        gettext_lazy("Allowed zones"),
        1100 * 4,
        gettext_lazy(
            "Enter one zone name per line. For members inside or above an existing zone, that zone must be in "
            "this list."
        ),
        rows=2,
    )
    most_members = number_field(
        gettext_lazy("Member limit"), 1, set_up_catalogs.MOST_MEMBERS, required=True, initial=1_000
    )
    most_lost = number_field(
        gettext_lazy("Removal limit"),
        0,
        100,
        gettext_lazy(
            "Enter a percentage of the members. If more members leave at once, someone must confirm their removal."
        ),
        required=True,
        initial=20,
    )

    @property
    def catalog_terms(self) -> CatalogTerms:
        given = self.cleaned_data
        team, tags = self._team_and_tags()
        return CatalogTerms(team, tags, given["within"].split(), given["most_members"], given["most_lost"])


class NewCatalogForm(CatalogForm, PrimariesForm, PublishingForm):
    """The form that follows a catalog: its name and primaries, and the settings for its members."""

    field_order = ("form_id", "name", *PrimariesForm.base_fields)

    name = mono_field(
        gettext_lazy("Catalog zone"),
        1100,
        gettext_lazy("Enter the name that the primaries use."),
        required=True,
        autofocus=True,
    )

    def clean_name(self) -> str:
        with input_faults():
            return names.parse(self.cleaned_data["name"])


class RuleForm(TeamAndTagsForm, PrimariesForm):
    """The form for a rule with the settings of one group's members."""

    field_order = ("group", "team", "tags", *PrimariesForm.base_fields)

    group = mono_field(gettext_lazy("Group"), set_up_catalogs.LONGEST_GROUP, required=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["addresses"].required = False
        self.fields["addresses"].help_text = gettext_lazy("Leave empty to use the catalog’s primaries.")

    @property
    def rule_terms(self) -> RuleTerms:
        team, tags = self._team_and_tags()
        return RuleTerms(self.cleaned_data["group"], team, tags, self.terms if self.terms.addresses else None)


def initial_of(catalog: Catalog) -> dict[str, Any]:
    """Return the form's initial values for an existing catalog."""
    return {
        "team": catalog.team_id,
        "tags": " ".join(catalog.tags),
        "within": "\n".join(catalog.within),
        "most_members": catalog.most_members,
        "most_lost": catalog.most_lost,
    }


def terms_of_rule(rule: Rule) -> RuleTerms:
    """Return an existing rule as `RuleTerms`, to keep it when another rule changes."""
    there = primaries.terms_of(rule) if rule.addresses else None
    return RuleTerms(rule.group, rule.team_id, tuple(rule.tags), there)
