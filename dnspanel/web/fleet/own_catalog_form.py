"""Forms for producer catalogs: a new catalog, zones to add, and groups."""

from typing import Any

from django import forms

from dnspanel.accounts.actors.actors import Right
from dnspanel.accounts.models import Team, User
from dnspanel.catalogs.producer import Chosen
from dnspanel.texts import gettext_lazy
from dnspanel.web.frame.forms import PanelForm, PublishingForm, input_faults, mono_field, offer_teams, split_list
from replication.dns import names


class GroupsForm(PanelForm):
    """The form for the tags that become a producer catalog's groups."""

    group_tags = mono_field(
        gettext_lazy("Groups"),
        1000,
        gettext_lazy(
            "Enter tags, separated by spaces. The first one that a zone has becomes its group, such as a Knot "
            "DNS template."
        ),
    )

    @property
    def groups(self) -> list[str]:
        return split_list(self.cleaned_data["group_tags"])


class NewOwnCatalogForm(GroupsForm, PublishingForm):
    """The form for a new producer catalog: its name, team and groups."""

    field_order = ("form_id", "name", "team", "group_tags")

    name = mono_field(
        gettext_lazy("Catalog zone"),
        1100,
        gettext_lazy("Enter a name that isn’t used by another zone. Only the catalog’s secondaries query it."),
        required=True,
        autofocus=True,
    )
    team = forms.ModelChoiceField(
        Team.objects.none(), label=gettext_lazy("Team"), required=False, empty_label=gettext_lazy("no team")
    )

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_teams(self.fields["team"], person, Right.CREATE_ZONE)

    def clean_name(self) -> str:
        with input_faults():
            return names.parse(self.cleaned_data["name"])


class PutInForm(PanelForm):
    """The form for the zones to add to a producer catalog."""

    zones = mono_field(gettext_lazy("Zones"), 300_000, gettext_lazy("Enter one zone name per line."), rows=3)
    tag = mono_field(gettext_lazy("Zones with tag"), 60)
    team = forms.ModelChoiceField(
        Team.objects.none(),
        label=gettext_lazy("Zones in team"),
        required=False,
        empty_label="–",
        help_text=gettext_lazy("Adds the zones whose settings you can change. Zones created later won’t be added."),
    )

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_teams(self.fields["team"], person, Right.SETTINGS)

    @property
    def chosen_zones(self) -> Chosen:
        """The zones, tag and team from the form."""
        typed = self.cleaned_data
        return Chosen(split_list(typed["zones"]), typed["tag"].strip(), typed["team"].pk if typed["team"] else None)
