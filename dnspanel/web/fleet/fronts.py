"""The view of a front's settings: the nodes in its rotation, and its limits."""

from typing import Any

from django import forms
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Permission
from dnspanel.fleet.errors import BadFront
from dnspanel.fleet.nodes import fronts, node_lifecycle
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import PanelForm, number_field
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.rights import access
from replication.wire.front_messages import MOST_WEIGHT, RANGES

_OF_NODE = "weight-"


class FrontForm(PanelForm):
    """The form for a front: its nodes with their weights, and its limits. `fronts` checks the values."""

    minimum = number_field(
        gettext_lazy("Minimum nodes"),
        1,
        None,
        gettext_lazy("Enter how many answering nodes must stay in rotation, even if they are behind."),
        required=True,
    )
    behind_seconds = forms.FloatField(
        label=gettext_lazy("Lag limit (seconds)"),
        min_value=RANGES["behind_seconds"][0],
        max_value=RANGES["behind_seconds"][1],
        help_text=gettext_lazy(
            "Enter the time after which a node that is behind leaves rotation. It must be longer than any group’s wait."
        ),
    )
    most_behind = number_field(
        gettext_lazy("Lag limit (changes)"),
        0,
        None,
        gettext_lazy("Enter how many changes a node can be behind without leaving rotation."),
        required=True,
    )
    cache_entries = number_field(
        gettext_lazy("Cached answers"),
        0,
        None,
        gettext_lazy("Enter 0 for no cache. Changing this number restarts dnsdist."),
        required=True,
    )
    queries_per_second = number_field(
        gettext_lazy("Client rate limit"),
        0,
        None,
        gettext_lazy(
            "Enter the number of UDP queries per second above which a client must use TCP, or 0 for no limit. "
            "Changing it restarts dnsdist."
        ),
        required=True,
    )

    def __init__(self, *args: Any, names: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._names = names
        for name in names:
            self.fields[f"{_OF_NODE}{name}"] = number_field(name, 0, MOST_WEIGHT)

    @property
    def of_nodes(self) -> list[Any]:
        """The nodes' weight fields, ordered by node name."""
        return [self[f"{_OF_NODE}{name}"] for name in self._names]

    def terms(self) -> fronts.Terms:
        """Return the form's values as `Terms`. Nodes without a weight or with the weight 0 are left out."""
        typed: dict[str, Any] = self.cleaned_data
        weights = {name: typed[f"{_OF_NODE}{name}"] for name in self._names}
        numbers = {name: typed[name] for name in RANGES}
        return fronts.Terms({name: weight for name, weight in weights.items() if weight}, **numbers)


@require_http_methods(["GET", "HEAD", "POST"])
def front_settings(request: PanelRequest, name: str) -> HttpResponse:
    """Show a front's nodes and limits. A POST changes the settings."""
    access.require(request.user, Permission.NODES)
    node = node_lifecycle.node_by_name(name)
    if not node.is_front:
        raise Http404
    terms = fronts.terms_of(node)
    names = [each.name for each in fronts.backend_choices()]
    initial = {f"{_OF_NODE}{name}": weight for name, weight in terms.backends.items()}
    initial |= {name: getattr(terms, name) for name in RANGES}
    form = FrontForm(request.POST or None, names=names, initial=initial)
    if form.is_valid():
        try:
            fronts.set_terms(node=node, terms=form.terms(), now=timezone.now(), by=request.user)
        except BadFront as exc:
            form.add_error(exc.field if exc.field in form.fields else None, str(exc))
        else:
            say_done(
                request, gettext("Settings for {name} saved. They will take effect within a second."), name=node.name
            )
            return redirect("node-detail", node.name)
    return render(request, "fleet/front.html", {"node": node, "form": form}, status=422 if form.is_bound else 200)
