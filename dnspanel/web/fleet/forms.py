"""Forms of nodes: a new node, its group and tags, and how long it is drained."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings

from dnspanel.fleet.models import Node, NodeGroup
from dnspanel.web.forms import PanelForm

SCHEMA_LABELS = {
    4: "4.7 (schema 4)",
    5: "4.8 or 4.9 (schema 5)",
    6: "5.0 or 5.1 (schema 6)",
}

DRAINS = [("1", "for 1 hour"), ("4", "for 4 hours"), ("24", "for 1 day"), ("168", "for 7 days"), ("0", "until resumed")]


class GroupField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A group of nodes, by name, listed in the order in which groups get publications."""

    def __init__(self) -> None:
        groups = NodeGroup.objects.order_by("order")
        super().__init__(groups, required=False, empty_label="the last group", help_text="Who gets publications first.")

    def label_from_instance(self, group: Any) -> str:
        return str(group.name)


class TagsField(forms.CharField):
    """Tags, separated by blanks or commas, as a list."""

    def __init__(self) -> None:
        widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
        super().__init__(required=False, max_length=700, help_text="Site, role: berlin anycast.", widget=widget)

    def clean(self, value: Any) -> list[str]:
        return str(super().clean(value)).replace(",", " ").split()


class NodeDescriptionForm(PanelForm):
    """The group and the tags of a node."""

    group = GroupField()
    tags = TagsField()

    @classmethod
    def of(cls, node: Node) -> "NodeDescriptionForm":
        """The form with those of this node."""
        return cls(initial={"group": node.group_id, "tags": " ".join(node.tags)})


class DrainForm(PanelForm):
    """Why nodes are drained, and for how long."""

    reason = forms.CharField(max_length=200, required=False, widget=forms.TextInput(attrs={"placeholder": "Reason"}))
    hours = forms.ChoiceField(label="For", required=False, choices=DRAINS)

    def until(self, now: datetime) -> datetime | None:
        """Return when the drain ends; None: when somebody resumes the node."""
        hours = int(self.cleaned_data["hours"] or 0)
        return now + timedelta(hours=hours) if hours else None


class NewNodeForm(PanelForm):
    """A server that is to become a node."""

    name = forms.CharField(
        max_length=63,
        help_text="Short and lasting, such as ns3.",
        widget=forms.TextInput(attrs={"autofocus": True, "autocomplete": "off", "spellcheck": "false"}),
    )
    schema = forms.TypedChoiceField(
        label="PowerDNS", coerce=int, choices=list(SCHEMA_LABELS.items()), help_text="The release on the server."
    )
    group = GroupField()
    tags = TagsField()
    dns_address = forms.GenericIPAddressField(label="DNS address", help_text="Where PowerDNS answers.")
    dns_port = forms.IntegerField(label="DNS port", min_value=1, max_value=65535, initial=53)
    agent_host = forms.CharField(
        label="Agent host", max_length=253, help_text="Where this panel reaches the agent; a name or an address."
    )
    agent_port = forms.IntegerField(label="Agent port", min_value=1, max_value=65535, initial=8533)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["schema"].initial = settings.SCHEMAS[0]
