"""Views that change many zones: selected zones, or all zones that match the list's search.

For a few zones, deletions and changes to tags or teams are previewed and then applied immediately. A dry run starts for
many zones, and always for DNSSEC policies and templates. An export is a separate job.
"""

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

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import Team, User
from dnspanel.database.statement_time import SearchTooGeneral, searching_for
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.transfer.errors import WrongState
from dnspanel.transfer.exports.export_jobs import create_export
from dnspanel.transfer.exports.exported_zones import Selection as Exported
from dnspanel.transfer.models import ExportFormat
from dnspanel.transfer.zone_templates import runs as template_runs
from dnspanel.transfer.zone_templates.access import template_for
from dnspanel.web.frame.all_or_some import ALL, AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import LONGEST_SEARCH, checked_search, mono_field, split_list, text_field
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.zones.from_template import templates_to_choose_from
from dnspanel.zones.dnssec.policy_queries import policies_visible_to
from dnspanel.zones.errors import QuotaExceeded, RunRefused, SettingsRefused, TemplateRefused
from dnspanel.zones.lists.selection import TooMany
from dnspanel.zones.models import TRASH_DAYS, Channel, DnssecPolicy, Zone, ZoneAct
from dnspanel.zones.publishing import many_settings
from dnspanel.zones.publishing.many_settings import Marks, ZoneSelection, ZonesOutcome, marks_of
from dnspanel.zones.rights import access
from dnspanel.zones.runs import change_run_queries, change_runs
from dnspanel.zones.runs.policy_runs import may_begin_runs as may_begin_policy_runs
from dnspanel.zones.settings.settings_of_zone import teams_to_choose_from

EXAMPLES = 10
MOST_NAMED = 20
MOST_AT_ONCE = 100  # zones; if there are more, a worker changes them
ADD, REMOVE, TEAM, DELETE = "add", "remove", "team", "delete"
POLICY, TEMPLATE, EXPORT = "policy", "template", "export"
ACTS = (
    (ADD, gettext_lazy("Add tags")),
    (REMOVE, gettext_lazy("Remove tags")),
    (TEAM, gettext_lazy("Assign team")),
    (POLICY, gettext_lazy("Assign DNSSEC policy")),
    (TEMPLATE, gettext_lazy("Apply template")),
    (EXPORT, gettext_lazy("Export")),
    (DELETE, gettext_lazy("Move to trash")),
)
_RUN_ACTS = {
    ADD: ZoneAct.ADD_TAGS,
    REMOVE: ZoneAct.REMOVE_TAGS,
    TEAM: ZoneAct.TEAM,
    POLICY: ZoneAct.POLICY,
    DELETE: ZoneAct.DELETE,
}
NONE = "none"


class ManyZonesForm(AllOrSomeForm):
    """The form for a bulk change of zones. It has fields for each kind of change."""

    all_or_some = (AllOrSome(("q",), needs_number=True),)

    q = mono_field(
        gettext_lazy("Zone filter"),
        LONGEST_SEARCH,
        gettext_lazy("Enter words from zone names, or filters such as tag:shop."),
    )
    act = forms.ChoiceField(choices=ACTS, label=gettext_lazy("Action"))
    tags = mono_field(
        None,
        4000,
        gettext_lazy("Enter lowercase letters, digits, dots, hyphens and underscores. Separate tags with spaces."),
    )
    team = forms.ChoiceField(required=False, help_text=gettext_lazy("Used by the “Assign team” action."))
    policy = forms.ChoiceField(
        label=gettext_lazy("DNSSEC policy"),
        required=False,
        help_text=gettext_lazy(
            "Used by the “Assign DNSSEC policy” action. Run the policies afterwards to sign the zones."
        ),
    )
    template = forms.ChoiceField(
        required=False,
        help_text=gettext_lazy("Used by the “Apply template” action. A dry run compares the template with each zone."),
    )
    format = forms.ChoiceField(required=False, help_text=gettext_lazy("Used by the “Export” action."))
    reason = text_field(None, 500, gettext_lazy("Optional. Shown in the history."))
    typed_count = forms.IntegerField(
        label=gettext_lazy("Number of deleted zones"),
        required=False,
        widget=forms.TextInput(attrs={"class": "input input-mono", "autocomplete": "off", "inputmode": "numeric"}),
    )
    preview = forms.BooleanField(required=False)
    seen = text_field(None, 64)

    def __init__(self, *args: Any, author: User, **kwargs: Any) -> None:
        super().__init__(*args, counted_for=author, **kwargs)
        self.teams: dict[str, Team] = {str(team.pk): team for team in teams_to_choose_from(author)}
        teams = [(pk, team.name) for pk, team in self.teams.items()]
        self.policies: dict[str, DnssecPolicy] = {}
        if may_begin_policy_runs(author):
            self.policies = {str(policy.pk): policy for policy in policies_visible_to(author)}
        named = [(pk, policy.name) for pk, policy in self.policies.items()]
        self._offer("team", [(NONE, gettext("no team")), *teams])
        self._offer("policy", [(NONE, gettext("inherit from tags or team")), *named] if named else [])
        self._offer("template", [(str(pk), name) for pk, name in templates_to_choose_from(author)[0]])
        self._offer("format", [(str(value), label) for value, label in ExportFormat.choices])

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", gettext("Choose…")), *choices]

    @property
    def title(self) -> str:
        """The title of the chosen bulk change."""
        return dict(ACTS).get(self.data.get("act", ""), gettext("Change many zones"))

    def clean_q(self) -> str:
        return checked_search(self.cleaned_data["q"])

    def _applies(self, each: AllOrSome) -> bool:
        return not self.is_bound or bool(self.data.get("all"))

    def clean(self) -> None:
        super().clean()
        act, data = self.cleaned_data.get("act"), self.cleaned_data
        needed, choose = {
            TEAM: ("team", gettext("Choose a team.")),
            POLICY: ("policy", gettext("Choose a policy.")),
            TEMPLATE: ("template", gettext("Choose a template.")),
            EXPORT: ("format", gettext("Choose a format.")),
        }.get(str(act), ("", ""))
        if needed and not data.get(needed) and needed not in self.errors:
            self.add_error(needed, choose)
        if act in {ADD, REMOVE}:
            try:
                self.marks()
            except SettingsRefused as exc:
                self.add_error("tags", str(exc))
            else:
                if not self._typed_tags():
                    self.add_error("tags", gettext("Enter at least one tag."))

    def _typed_tags(self) -> list[str]:
        return split_list(str(self.cleaned_data.get("tags", "")))

    def marks(self) -> Marks:
        """Return the requested changes to tags and team. Raise SettingsRefused for an invalid tag."""
        match self.cleaned_data["act"]:
            case "add":
                return marks_of(add=self._typed_tags())
            case "remove":
                return marks_of(remove=self._typed_tags())
        return Marks(moves=True, team=self.teams.get(self.cleaned_data["team"]))

    def alike(self) -> change_runs.Alike:
        """Return the change that a run makes to each zone. Raise SettingsRefused for an invalid tag."""
        data = self.cleaned_data
        act = _RUN_ACTS[data["act"]]
        if act == ZoneAct.POLICY:
            return change_runs.Alike(act, policy=self.policies.get(data["policy"]))
        if act == ZoneAct.DELETE:
            return change_runs.Alike(act, reason=data["reason"])
        marks = self.marks()
        return change_runs.Alike(act, marks.add or marks.remove, marks.team)


@require_http_methods(["GET", "HEAD", "POST"])
def zone_many_zones(request: PanelRequest) -> HttpResponse:
    """Show the form for changing many zones. A POST previews the change or starts a job; a second POST applies it."""
    if not change_run_queries.may_begin_runs(request.user):
        raise access.Forbidden(Permission.EDIT)
    if request.method != "POST":
        initial = {"q": request.GET.get("q", "")[:LONGEST_SEARCH]}
        return _ask(request, ManyZonesForm(initial=initial, author=request.user))
    selection = _selection(request)
    if selection is None:
        messages.warning(request, gettext("Nothing was selected, so nothing was changed."))
        return redirect(_back(request))
    form = ManyZonesForm(request.POST, author=request.user)
    if form.is_valid() and (begun := _as_job(request, form, selection)) is not None:
        return begun
    outcome = _preview(form, selection, request) if form.is_valid() else None
    if outcome is None:
        return _ask(request, form, status=422)
    if not outcome.changed or not form.cleaned_data["preview"]:
        return _show(request, form, outcome)
    if form.cleaned_data["seen"] != _fingerprint(outcome.changed):
        messages.warning(
            request, gettext("The changes are no longer the same as in the last preview. Review the new preview.")
        )
        return _show(request, form, outcome)
    if form.cleaned_data["act"] == DELETE:
        return _delete(request, form, outcome)
    return _mark(request, form, outcome)


def _preview(form: ManyZonesForm, selection: ZoneSelection, request: PanelRequest) -> ZonesOutcome | None:
    """Return the outcome of the bulk change. If it is rejected, add the error to the form and return None."""
    try:
        with searching_for(selection.search):
            if form.cleaned_data["act"] == DELETE:
                return many_settings.preview_deletion(selection=selection, author=request.user)
            return many_settings.preview_marks(selection=selection, marks=form.marks(), author=request.user)
    except TooMany:
        most = many_settings.MOST_DELETED if form.cleaned_data["act"] == DELETE else many_settings.MOST_ZONES
        form.refuse(
            None, gettext("The search found more than {most:,} zones. Use a narrower search.").format(most=most)
        )
    except SearchTooGeneral as exc:
        form.refuse("q", str(exc))
    except SettingsRefused as exc:
        form.refuse(exc.field, str(exc))
    return None


def _as_job(request: PanelRequest, form: ManyZonesForm, selection: ZoneSelection) -> HttpResponse | None:
    """Start a run or an export and redirect to it. Return None if the change is applied immediately.

    If the run or the export is rejected, return the page with the form's errors.
    """
    act = form.cleaned_data["act"]
    try:
        with searching_for(selection.search):
            is_little = act in {ADD, REMOVE, TEAM, DELETE} and _is_little(request, selection)
        if is_little:
            return None
        if act == EXPORT:
            return _export(request, form, selection)
        begin = {TEMPLATE: _apply_template}.get(act, _begin_run)
        return redirect(begin(request, form, selection))
    except SearchTooGeneral as exc:
        form.refuse("q", str(exc))
    except SettingsRefused as exc:
        form.refuse(exc.field, str(exc))
    except TemplateRefused as exc:
        form.refuse(
            "template",
            gettext("{exc} Start the run on the template’s page, where you can enter the variables.").format(exc=exc),
        )
    except (RunRefused, WrongState) as exc:
        form.refuse(None, str(exc))
    return _ask(request, form, status=422)


def _is_little(request: PanelRequest, selection: ZoneSelection) -> bool:
    try:
        many_settings.selected_zones(selection, request.user, MOST_AT_ONCE)
    except TooMany:
        return False
    return True


def _begin_run(request: PanelRequest, form: ManyZonesForm, selection: ZoneSelection) -> str:
    run = change_runs.create_run(
        alike=form.alike(), by=request.user, now=timezone.now(), search=selection.search, names=selection.names
    )
    return reverse("zone-change-run", args=[run.pk])


def _apply_template(request: PanelRequest, form: ManyZonesForm, selection: ZoneSelection) -> str:
    run = template_runs.create_run(
        template=template_for(request.user, int(form.cleaned_data["template"])),
        by=request.user,
        now=timezone.now(),
        search=selection.search,
        names=selection.names,
    )
    return reverse("template-run", args=[run.pk])


def _export(request: PanelRequest, form: ManyZonesForm, selection: ZoneSelection) -> HttpResponse:
    job = create_export(
        selection=Exported(selection.names, selection.search),
        export_format=form.cleaned_data["format"],
        author=request.user,
        now=timezone.now(),
    )
    return redirect("zone-export-job", job.pk)


def _mark(request: PanelRequest, form: ManyZonesForm, seen: ZonesOutcome) -> HttpResponse:
    with form.catching(QuotaExceeded, at="team"):
        done = many_settings.change_marks(
            zones=seen.changed, marks=form.marks(), author=request.user, now=timezone.now()
        )
        say_done(request, gettext("{value} changed."), value=_zones_text(len(done.changed)))
        _say_what_stays(request, done)
        return redirect(_back(request))
    return _ask(request, form, status=422)


def _delete(request: PanelRequest, form: ManyZonesForm, seen: ZonesOutcome) -> HttpResponse:
    if form.cleaned_data["typed_count"] != len(seen.changed):
        form.refuse("typed_count", gettext("Enter {changed} to confirm.").format(changed=len(seen.changed)))
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
    say_done(
        request,
        gettext("{value} moved to the trash for {trash_days} days."),
        value=_zones_text(len(done.changed)),
        trash_days=TRASH_DAYS,
    )
    return redirect("publication", publication.sequence)


def _say_what_stays(request: PanelRequest, done: ZonesOutcome) -> None:
    for zone, reason in done.refused[:MOST_NAMED]:
        messages.warning(request, gettext("{name} was not changed. {reason}").format(name=zone.name, reason=reason))
    if len(done.refused) > MOST_NAMED:
        messages.warning(
            request,
            gettext("More zones that were not changed: {value:,}.").format(value=len(done.refused) - MOST_NAMED),
        )


def _zones_text(count: int) -> str:
    return ngettext("{count:,} zone", "{count:,} zones", count).format(count=count)


def _fingerprint(zones: Sequence[Zone]) -> str:
    """Return a digest of the zones to change and their current state."""
    content = [[zone.pk, zone.revision, zone.tags, zone.team_id] for zone in zones]
    return hashlib.blake2s(json.dumps(content).encode(), digest_size=12).hexdigest()


def _selection(request: PanelRequest) -> ZoneSelection | None:
    if request.POST.get("all"):
        search = "" if request.POST.get("where") == ALL else request.POST.get("q", "")
        return ZoneSelection(search=search[:LONGEST_SEARCH].strip())
    names = tuple(dict.fromkeys(request.POST.getlist("zone")))
    return ZoneSelection(names) if names else None


def _back(request: PanelRequest) -> str:
    query = urlencode({"q": request.POST["q"]}) if request.POST.get("q") else ""
    return f"{reverse('zone-list')}{'?' if query else ''}{query}"


def _ask(request: PanelRequest, form: ManyZonesForm, *, status: int = 200) -> HttpResponse:
    ticked = [("zone", name) for name in request.POST.getlist("zone")]
    is_all = bool(request.POST.get("all")) or not ticked
    context = {"form": form, "act": form.title, "asks": True, "ticked": [] if is_all else ticked, "is_all": is_all}
    return render(request, "zones/many.html", context, status=status)


def _show(request: PanelRequest, form: ManyZonesForm, outcome: ZonesOutcome, *, status: int = 200) -> HttpResponse:
    kept = ("zone", "all", "where", "where_number", "q", "act", "tags", "team")  # the fields of immediate changes
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
    """Return a zone's name, and one property (the RRset count for a deletion) before and after the change."""
    if form.cleaned_data["act"] == DELETE:
        return (
            zone.name,
            ngettext("{rrset_count:,} RRset", "{rrset_count:,} RRsets", zone.rrset_count).format(
                rrset_count=zone.rrset_count
            ),
            "",
        )
    marks = form.marks()
    if marks.moves:
        return zone.name, _team_name(form, zone.team_id), marks.team.name if marks.team else gettext("no team")
    return zone.name, " ".join(zone.tags) or gettext("no tags"), " ".join(marks.tags_of(zone)) or gettext("no tags")


def _team_name(form: ManyZonesForm, team_id: int | None) -> str:
    if team_id is None:
        return gettext("no team")
    return form.teams[str(team_id)].name if str(team_id) in form.teams else gettext("another team")
