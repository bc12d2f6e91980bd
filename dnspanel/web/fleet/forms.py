"""Forms to create, describe and drain nodes."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings

from dnspanel.fleet.models import Node, NodeGroup
from dnspanel.texts import gettext_lazy
from dnspanel.web.frame.forms import PanelForm, number_field, split_list, text_field

SCHEMA_LABELS = {
    4: gettext_lazy("4.7 (schema 4)"),
    5: gettext_lazy("4.8 or 4.9 (schema 5)"),
    6: gettext_lazy("5.0 or 5.1 (schema 6)"),
}

DRAINS = [
    ("1", gettext_lazy("for 1 hour")),
    ("4", gettext_lazy("for 4 hours")),
    ("24", gettext_lazy("for 1 day")),
    ("168", gettext_lazy("for 7 days")),
    ("0", gettext_lazy("until resumed")),
]


class GroupField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A field to choose a group of nodes. Groups are listed in the order in which they receive publications."""

    def __init__(self) -> None:
        groups = NodeGroup.objects.order_by("order")
        super().__init__(
            groups,
            required=False,
            empty_label=gettext_lazy("last group"),
            help_text=gettext_lazy("Groups set the order in which nodes get publications."),
        )

    def label_from_instance(self, group: Any) -> str:
        return str(group.name)


class TagsField(forms.CharField):
    """A field for tags separated by spaces or commas. The cleaned value is a list."""

    def __init__(
        self,
        label: str = gettext_lazy("Tags"),
        help_text: str = gettext_lazy(
            "Enter tags, such as the site or role, separated by spaces. Example: berlin anycast."
        ),
    ) -> None:
        widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
        super().__init__(label=label, required=False, max_length=700, help_text=help_text, widget=widget)

    def clean(self, value: Any) -> list[str]:
        return split_list(str(super().clean(value)))


class NodeDescriptionForm(PanelForm):
    """The form for a node's group, tags and public addresses."""

    group = GroupField()
    tags = TagsField()
    public_addresses = TagsField(
        gettext_lazy("Public addresses"),
        gettext_lazy("Enter the addresses that resolvers use, or leave empty to use the DNS address."),
    )

    @classmethod
    def of(cls, node: Node) -> "NodeDescriptionForm":
        """Return the form filled in with the node's values."""
        addresses = " ".join(node.public_addresses)
        return cls(initial={"group": node.group_id, "tags": " ".join(node.tags), "public_addresses": addresses})


class DrainForm(PanelForm):
    """The form for draining nodes: the reason and the duration."""

    reason = text_field(None, 200, placeholder=gettext_lazy("Reason"))
    hours = forms.ChoiceField(label=gettext_lazy("For"), required=False, choices=DRAINS)

    def until(self, now: datetime) -> datetime | None:
        """Return when the drain ends, or None if it continues until someone resumes the node."""
        hours = int(self.cleaned_data["hours"] or 0)
        return now + timedelta(hours=hours) if hours else None


class NewNodeForm(PanelForm):
    """The form for a new node: its name, role, schema, group, tags and addresses."""

    name = text_field(
        None,
        63,
        gettext_lazy("Enter a short, permanent name, such as ns3."),
        required=True,
        autofocus=True,
        autocomplete="off",
        spellcheck="false",
    )
    is_front = forms.ChoiceField(
        label=gettext_lazy("Type"),
        choices=[
            ("False", gettext_lazy("Node (PowerDNS)")),
            ("True", gettext_lazy("Front (dnsdist in front of nodes)")),
        ],
        required=False,
    )
    schema = forms.TypedChoiceField(
        label="PowerDNS",
        coerce=int,
        choices=list(SCHEMA_LABELS.items()),
        help_text=gettext_lazy("Choose the release installed on the server."),
    )
    group = GroupField()
    tags = TagsField()
    dns_address = forms.GenericIPAddressField(
        label=gettext_lazy("DNS address"), help_text=gettext_lazy("Enter the address on which PowerDNS answers.")
    )
    dns_port = number_field(gettext_lazy("DNS port"), 1, 65535, required=True, initial=53)
    agent_host = text_field(
        gettext_lazy("Agent host"),
        253,
        gettext_lazy("Enter the name or address at which the panel reaches the agent."),
        required=True,
    )
    agent_port = number_field(gettext_lazy("Agent port"), 1, 65535, required=True, initial=8533)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["schema"].initial = settings.SCHEMAS[0]

    def clean_is_front(self) -> bool:
        """Return True if a front was chosen."""
        return bool(self.cleaned_data["is_front"] == "True")
