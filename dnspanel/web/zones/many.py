"""Changing many zones: tags, team, deletion; what is ticked in the list, or all that its search finds."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors import Person, actor_of
from dnspanel.accounts.grants import Right
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.roles import Permission
from dnspanel.statement_time import SearchTooGeneral, searching_for
from dnspanel.web.forms import LONGEST_SEARCH, PanelForm, checked_search
from dnspanel.web.layout import PanelRequest
from dnspanel.zones import access, many_settings
from dnspanel.zones.errors import QuotaExceeded, SettingsRefused
from dnspanel.zones.many_settings import Marks, ZoneSelection, ZonesOutcome, marks_of
from dnspanel.zones.models import TRASH_DAYS, Channel, Zone
from dnspanel.zones.selection import TooMany
from dnspanel.zones.settings_of_zone import teams_to_choose_from

EXAMPLES = 10
MOST_NAMED = 20
ADD, REMOVE, TEAM, DELETE = "add", "remove", "team", "delete"
ACTS = ((ADD, "Add tags"), (REMOVE, "Remove tags"), (TEAM, "Give to a team"), (DELETE, "Move to the trash"))
NO_TEAM = "none"


class ManyZonesForm(PanelForm):
    """What is to be done with zones, with the fields that the act needs."""

    q = forms.CharField(
        label="Which zones",
        required=False,
        max_length=LONGEST_SEARCH,
        help_text="As in the list: words of their names, and filters such as tag:shop. Empty means all zones.",
        widget=forms.TextInput(attrs={"class": "input input-mono", "autocomplete": "off", "spellcheck": "false"}),
    )
    act = forms.ChoiceField(choices=ACTS, label="What is to be done")
    tags = forms.CharField(
        required=False,
        max_length=4000,
        help_text="For tags: small letters, digits, dots, dashes, underscores; spaces between them.",
        widget=forms.TextInput(attrs={"class": "input input-mono", "autocomplete": "off", "spellcheck": "false"}),
    )
    team = forms.ChoiceField(required=False, help_text="For a team.")
    reason = forms.CharField(label="Reason", required=False, max_length=500, help_text="Kept in the history, optional.")
    typed_count = forms.IntegerField(
        label="Type how many zones you delete",
        required=False,
        widget=forms.TextInput(attrs={"class": "input input-mono", "autocomplete": "off", "inputmode": "numeric"}),
    )
    preview = forms.BooleanField(required=False)
    seen = forms.CharField(max_length=64, required=False)

    def __init__(self, *args: Any, author: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.teams: dict[str, Team] = {str(team.pk): team for team in teams_to_choose_from(author)}
        teams = [(pk, team.name) for pk, team in self.teams.items()]
        choice = self.fields["team"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [("", "Choose…"), (NO_TEAM, "no team"), *teams]

    @property
    def title(self) -> str:
        """What the act is called."""
        return dict(ACTS).get(self.data.get("act", ""), "Change many zones")

    def clean_q(self) -> str:
        return checked_search(self.cleaned_data["q"])

    def clean(self) -> None:
        act, data = self.cleaned_data.get("act"), self.cleaned_data
        if act == TEAM and not data.get("team") and "team" not in self.errors:
            self.add_error("team", "Choose the team.")
        if act in {ADD, REMOVE}:
            try:
                self.marks()
            except SettingsRefused as exc:
                self.add_error("tags", str(exc))
            else:
                if not self._typed_tags():
                    self.add_error("tags", "Say which tags.")

    def _typed_tags(self) -> list[str]:
        return str(self.cleaned_data.get("tags", "")).replace(",", " ").split()

    def marks(self) -> Marks:
        """The tags and the team that are asked for. Raises SettingsRefused for what is not a tag."""
        match self.cleaned_data["act"]:
            case "add":
                return marks_of(add=self._typed_tags())
            case "remove":
                return marks_of(remove=self._typed_tags())
        return Marks(moves=True, team=self.teams.get(self.cleaned_data["team"]))


def may_change_many(person: Person) -> bool:
    """Return True if there may be zones whose tags and team this person may change, or that they may delete."""
    actor = actor_of(person)
    return actor is not None and any(map(actor.may_somewhere, (Right.SETTINGS, Right.DELETE_ZONE)))


@require_http_methods(["GET", "HEAD", "POST"])
def zone_many_zones(request: PanelRequest) -> HttpResponse:
    """Ask what is to be done with many zones; a POST shows what it comes to, and then does it."""
    if not may_change_many(request.user):
        raise access.Forbidden(Permission.EDIT)
    if request.method != "POST":
        initial = {"q": request.GET.get("q", "")[:LONGEST_SEARCH]}
        return _ask(request, ManyZonesForm(initial=initial, author=request.user))
    selection = _selection(request)
    if selection is None:
        messages.warning(request, "Nothing was ticked, so nothing was changed.")
        return redirect(_back(request))
    form = ManyZonesForm(request.POST, author=request.user)
    outcome = _preview(form, selection, request) if form.is_valid() else None
    if outcome is None:
        return _ask(request, form, status=422)
    if not outcome.changed or not form.cleaned_data["preview"]:
        return _show(request, form, outcome)
    if form.cleaned_data["seen"] != _fingerprint(outcome.changed):
        messages.warning(request, "What would be changed is not what it was a moment ago. Look at it again.")
        return _show(request, form, outcome)
    if form.cleaned_data["act"] == DELETE:
        return _delete(request, form, outcome)
    return _mark(request, form, outcome)


def _preview(form: ManyZonesForm, selection: ZoneSelection, request: PanelRequest) -> ZonesOutcome | None:
    """Return what the act comes to; None if it is refused, with the error added to the form."""
    try:
        with searching_for(selection.search):
            if form.cleaned_data["act"] == DELETE:
                return many_settings.preview_deletion(selection=selection, author=request.user)
            return many_settings.preview_marks(selection=selection, marks=form.marks(), author=request.user)
    except TooMany:
        most = many_settings.MOST_DELETED if form.cleaned_data["act"] == DELETE else many_settings.MOST_ZONES
        form.refuse(None, f"More than {most:,} zones are found. Narrow the search.")
    except SearchTooGeneral as exc:
        form.refuse("q", str(exc))
    except SettingsRefused as exc:
        form.refuse(exc.field, str(exc))
    return None


def _mark(request: PanelRequest, form: ManyZonesForm, seen: ZonesOutcome) -> HttpResponse:
    try:
        done = many_settings.change_marks(
            zones=seen.changed, marks=form.marks(), author=request.user, now=timezone.now()
        )
    except QuotaExceeded as exc:
        form.refuse("team", str(exc))
        return _ask(request, form, status=422)
    messages.success(request, f"{_counted(len(done.changed))} changed.")
    _say_what_stays(request, done)
    return redirect(_back(request))


def _delete(request: PanelRequest, form: ManyZonesForm, seen: ZonesOutcome) -> HttpResponse:
    if form.cleaned_data["typed_count"] != len(seen.changed):
        form.refuse("typed_count", f"Type {len(seen.changed)} to confirm it.")
        return _show(request, form, seen, status=422)
    publication, done = many_settings.delete_found(
        zones=seen.changed,
        author=request.user,
        channel=Channel.WEB,
        now=timezone.now(),
        reason=form.cleaned_data["reason"],
        confirmed=True,
    )
    _say_what_stays(request, done)
    if publication is None:
        return redirect(_back(request))
    messages.success(request, f"{_counted(len(done.changed))} moved to the trash for {TRASH_DAYS} days.")
    return redirect("publication", publication.sequence)


def _say_what_stays(request: PanelRequest, done: ZonesOutcome) -> None:
    for zone, reason in done.refused[:MOST_NAMED]:
        messages.warning(request, f"{zone.name} stays as it is. {reason}")
    if len(done.refused) > MOST_NAMED:
        messages.warning(request, f"So do {len(done.refused) - MOST_NAMED:,} more.")


def _counted(count: int) -> str:
    return f"{count:,} zone{'' if count == 1 else 's'}"


def _fingerprint(zones: Sequence[Zone]) -> str:
    """Return a digest of which zones would change, as they are now."""
    content = [[zone.pk, zone.revision, zone.tags, zone.team_id] for zone in zones]
    return hashlib.blake2s(json.dumps(content).encode(), digest_size=12).hexdigest()


def _selection(request: PanelRequest) -> ZoneSelection | None:
    """Return what the request selects; None for nothing."""
    if request.POST.get("all"):
        return ZoneSelection(search=request.POST.get("q", "")[:LONGEST_SEARCH].strip())
    names = tuple(dict.fromkeys(request.POST.getlist("zone")))
    return ZoneSelection(names) if names else None


def _back(request: PanelRequest) -> str:
    """Return the address of the list, with its search."""
    query = urlencode({"q": request.POST["q"]}) if request.POST.get("q") else ""
    return f"{reverse('zone-list')}{'?' if query else ''}{query}"


def _ask(request: PanelRequest, form: ManyZonesForm, *, status: int = 200) -> HttpResponse:
    ticked = [("zone", name) for name in request.POST.getlist("zone")]
    is_all = bool(request.POST.get("all")) or not ticked
    context = {"form": form, "act": form.title, "asks": True, "ticked": [] if is_all else ticked, "is_all": is_all}
    return render(request, "zones/many.html", context, status=status)


def _show(request: PanelRequest, form: ManyZonesForm, outcome: ZonesOutcome, *, status: int = 200) -> HttpResponse:
    kept = ("zone", "all", "q", "act", "tags", "team")
    context = {
        "form": form,
        "act": form.title,
        "deletes": form.cleaned_data["act"] == DELETE,
        "count": len(outcome.changed),
        "rrsets": outcome.rrsets,
        "unchanged": outcome.unchanged,
        "examples": [_example(form, zone) for zone in outcome.changed[:EXAMPLES]],
        "refused": outcome.refused[:MOST_NAMED],
        "more_refused": max(0, len(outcome.refused) - MOST_NAMED),
        "kept": [(name, value) for name in kept for value in request.POST.getlist(name)],
        "seen": _fingerprint(outcome.changed),
        "back": _back(request),
        "days": TRASH_DAYS,
    }
    return render(request, "zones/many.html", context, status=status)


def _example(form: ManyZonesForm, zone: Zone) -> tuple[str, str, str]:
    """Return a zone's name, and what is to change of it, before and after."""
    if form.cleaned_data["act"] == DELETE:
        return zone.name, f"{zone.rrset_count:,} RRset{'' if zone.rrset_count == 1 else 's'}", ""
    marks = form.marks()
    if marks.moves:
        return zone.name, _team_name(form, zone.team_id), marks.team.name if marks.team else "no team"
    return zone.name, " ".join(zone.tags) or "no tag", " ".join(marks.tags_of(zone)) or "no tag"


def _team_name(form: ManyZonesForm, team_id: int | None) -> str:
    if team_id is None:
        return "no team"
    return form.teams[str(team_id)].name if str(team_id) in form.teams else "another team"
