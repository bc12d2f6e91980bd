"""Views that list, add and remove approval rules and freezes, for people with the right `govern`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dnspanel.accounts.actors.actors import Actor, Permission, Right, actor_of
from dnspanel.accounts.models import Role, Team, Token, User
from dnspanel.accounts.rights.known_people import teams_known_to
from dnspanel.accounts.texts.same_text import same_but_for_ascii_case
from dnspanel.accounts.tokens.tokens import tokens_visible_to
from dnspanel.database.field_copies import copy_fields
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.web.frame.all_or_some import ALL, AllOrSome, AllOrSomeForm, Part
from dnspanel.web.frame.confirm import Question, run_confirmed
from dnspanel.web.frame.forms import input_faults, mono_field, number_field, split_list, text_field
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.web.settings.freeze_times_form import (
    REPEATS,
    FreezeTimesForm,
    Period,
    initial_times,
    next_periods,
    pickers_of,
)
from dnspanel.zones.errors import Forbidden, RuleRefused, RuleUnknown
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.models import ApprovalRule, Freeze, ZoneRule
from dnspanel.zones.rights import access
from replication.dns import rdtypes

Placed = TypeVar("Placed")


@dataclass(frozen=True)
class DisplayFreeze:
    freeze: Freeze
    now: datetime

    @cached_property
    def next(self) -> list[Period]:
        return next_periods(self.freeze, self.now)

    @property
    def is_frozen(self) -> bool:
        return bool(self.next) and self.next[0][0] <= self.now

    @cached_property
    def pickers(self) -> dict[str, Any]:
        return pickers_of(self.freeze.repeats)

    @property
    def repeat(self) -> str:
        return str(REPEATS[self.pickers["repeat"]])


class ScopeForm(AllOrSomeForm):
    """The base class of rule forms: the zones that a rule applies to, and the reason for the rule."""

    all_or_some: ClassVar[tuple[AllOrSome, ...]] = (AllOrSome(("zone", "tag", "team"), needs_number=True),)
    model: ClassVar[type[ZoneRule]]
    displayed = frozenset(
        {"zone", "tag", "team", "needed", "types", "approver_team", "approver_role", "ticket", "name", "url"}
    )

    zone = mono_field(None, 1100)
    tag = mono_field(None, 40)
    team = text_field(None, 64, gettext_lazy("Enter a zone, a tag or a team."), autocomplete="off")
    reason = text_field(
        gettext_lazy("Why"),
        publish_rules.LONGEST_REASON,
        gettext_lazy("Shown to people who are blocked."),
        required=True,
    )

    def __init__(self, *args: Any, reader: Actor, **kwargs: Any) -> None:
        super().__init__(*args, counted_for=reader, **kwargs)
        self.reader = reader

    def clean_zone(self) -> Any:
        text = self.cleaned_data["zone"].strip()
        with input_faults():
            return access.zone_for_reading(self.reader, text) if text else None

    def clean_tag(self) -> str:
        return str(self.cleaned_data["tag"]).strip().lower()

    def clean_team(self) -> Team | None:
        return _team(self.reader, self.cleaned_data["team"])

    @property
    def scope(self) -> publish_rules.Scope:
        given = self.cleaned_data
        return publish_rules.Scope(given["zone"], given["tag"], given["team"])

    @property
    def preview(self) -> ZoneRule | None:
        """A rule with the form's values that is not saved, or None until the zones are chosen."""
        if not self.is_bound or self.errors.keys() & {"where", "zone", "tag", "team"}:
            return None
        return self.model(**{name: value for name, value in self.cleaned_data.items() if name in self.displayed})

    def place_rule(self, place: Callable[..., Placed], *, author: User, **of_its_kind: object) -> Placed | None:
        """Call `place` to add or change a rule, and return its result. The form must be valid.

        If the rule is rejected, add the error to its field and return None.
        """
        with self.catching(RuleRefused):
            return place(
                scope=self.scope, reason=self.cleaned_data["reason"], author=author, now=timezone.now(), **of_its_kind
            )
        return None


class ApprovalRuleForm(ScopeForm):
    """The form for an approval rule: the changes that need approval, and the people who can approve them."""

    model = ApprovalRule
    all_or_some = (
        *ScopeForm.all_or_some,
        AllOrSome(
            ("types",),
            "changes",
            gettext_lazy("Changes"),
            gettext_lazy("All record types"),
            gettext_lazy("Only these record types"),
            default=ALL,
        ),
    )

    needed = number_field(
        gettext_lazy("Required approvals"),
        0,
        publish_rules.MOST_APPROVERS,
        gettext_lazy("Enter 0 to require only a ticket."),
        required=True,
        initial=1,
    )
    approver_team = text_field(gettext_lazy("Approver team"), 64, autocomplete="off")
    approver_role = forms.ChoiceField(
        label=gettext_lazy("Minimum approver role"),
        required=False,
        choices=[("", gettext_lazy("no role")), *Role.choices],
        help_text=gettext_lazy("If you choose neither a team nor a role, administrators must approve."),
    )
    types = mono_field(gettext_lazy("Record types"), 300, placeholder="NS MX")
    min_changes = number_field(
        gettext_lazy("Minimum changed RRsets per zone"), 1, publish_rules.MOST_CHANGES, required=True, initial=1
    )
    tokens = mono_field(
        gettext_lazy("Exempt tokens"),
        1000,
        gettext_lazy("Enter token prefixes or TSIG key names, separated by spaces."),
    )
    ticket = mono_field(
        gettext_lazy("Ticket format"),
        40,
        gettext_lazy("Enter a format in which # stands for a number, such as OPS-#."),
        placeholder="OPS-#",
    )
    ticket_link = mono_field(
        gettext_lazy("Ticket URL"), publish_rules.LONGEST_LINK, placeholder="https://tracker.example/{ticket}"
    )

    def clean_approver_team(self) -> Team | None:
        return _team(self.reader, self.cleaned_data["approver_team"])

    def clean_types(self) -> list[int]:
        with input_faults():
            return [rdtypes.type_from_text(word) for word in split_list(self.cleaned_data["types"])]

    def clean_tokens(self) -> list[Token]:
        known = tokens_visible_to(self.reader).filter(revoked_at=None)
        found = []
        for word in split_list(self.cleaned_data["tokens"])[:100]:
            name = f"{word.lower().rstrip('.')}."
            token = known.filter(prefix=word.rstrip("….")).first() or known.filter(tsig_name=name).first()
            if token is None:
                raise forms.ValidationError(gettext("Token {word} not found.").format(word=word[:60]))
            found.append(token)
        return found

    @property
    def terms(self) -> publish_rules.ApprovalTerms:
        given = self.cleaned_data
        return copy_fields(
            publish_rules.ApprovalTerms,
            given,
            team=given["approver_team"],
            role=given["approver_role"],
            ticket=given["ticket"].strip(),
            ticket_link=given["ticket_link"].strip(),
        )


class FreezeForm(FreezeTimesForm, ScopeForm):
    """The form for a freeze: its scope, its period, and its repetition."""

    model = Freeze

    @property
    def field_lines(self) -> Iterator[forms.BoundField | Part]:
        """The visible fields other than the times."""
        for line in super().field_lines:
            if isinstance(line, Part) or line.name not in FreezeTimesForm.base_fields:
                yield line


def initial_freeze(freeze: Freeze) -> dict[str, Any]:
    """Return the form's initial values for a freeze."""
    zone, team = freeze.zone and freeze.zone.name, freeze.team and freeze.team.name
    return {"zone": zone, "tag": freeze.tag, "team": team, "reason": freeze.reason, **initial_times(freeze)}


@require_http_methods(["GET", "HEAD", "POST"])
def approval_rules(request: PanelRequest) -> HttpResponse:
    """List the approval rules that the user is allowed to remove. A POST adds a rule. htmx gets only a preview."""
    reader = governor(request)
    if preview := preview_of(request, ApprovalRuleForm, reader):
        return preview
    form = ApprovalRuleForm(request.POST or None, reader=reader)
    if form.is_valid():
        rule = form.place_rule(publish_rules.add_approval_rule, author=request.user, terms=form.terms)
        if rule is not None:
            say_done(request, gettext("Approval rule created for {scope}."), scope=rule.scope)
            return redirect("settings-approvals")
    context = {"entries": publish_rules.approval_rules(request.user), "form": form, "tab": "approvals"}
    return render(request, "settings/approvals.html", context, status=422 if form.is_bound else 200)


@require_POST
def approval_rule_lift(request: PanelRequest, rule_id: int) -> HttpResponse:
    """Remove the approval rule after the user confirms."""
    return lift_rule(
        request,
        lambda: _about_rule(publish_rules.rule_with_id(publish_rules.approval_rules(request.user), rule_id)),
        partial(publish_rules.lift_approval_rule, rule_id=rule_id),
        gettext("Approval rule deleted."),
        back="settings-approvals",
    )


def _about_rule(rule: ApprovalRule) -> Question:
    effects = []
    if rule.needed:
        effects.append(
            ngettext(
                "Changes to these zones can be published without another person’s approval.",
                "Changes to these zones can be published without approval from {needed} other people.",
                rule.needed,
            ).format(needed=rule.needed)
        )
    if rule.ticket:
        effects.append(gettext("Changes to these zones can be published without a ticket."))
    effects.append(gettext("Waiting requests can be published immediately unless another rule blocks them."))
    return about_lifting(rule, gettext("Delete approval rule"), effects, back="settings-approvals")


@require_http_methods(["GET", "HEAD", "POST"])
def freezes(request: PanelRequest) -> HttpResponse:
    """List the freezes that the user is allowed to remove. A POST adds a freeze.

    If `copy` is a freeze's id, the form starts with its values. htmx gets only a preview with the next periods.
    """
    reader, now = governor(request), timezone.now()
    if preview := preview_of(request, FreezeForm, reader):
        return preview
    own = publish_rules.freezes(request.user)
    copied = next((freeze for freeze in own if str(freeze.pk) == request.GET.get("copy")), None)
    form = FreezeForm(request.POST or None, reader=reader, initial=copied and initial_freeze(copied))
    if form.is_valid():
        freeze = form.place_rule(publish_rules.add_freeze, author=request.user, times=form.times)
        if freeze is not None:
            say_done(request, gettext("Freeze created for {scope}."), scope=freeze.scope)
            return redirect("settings-freezes")
    found = [DisplayFreeze(freeze, now) for freeze in own]
    context = {"entries": found, "form": form, "tab": "freezes"}
    return render(request, "settings/freezes.html", context, status=422 if form.is_bound else 200)


@require_POST
def freeze_lift(request: PanelRequest, freeze_id: int) -> HttpResponse:
    """Remove the freeze after the user confirms."""
    return lift_rule(
        request,
        lambda: _about_freeze(publish_rules.rule_with_id(publish_rules.freezes(request.user), freeze_id)),
        partial(publish_rules.lift_freeze, freeze_id=freeze_id),
        gettext("Freeze deleted."),
        back="settings-freezes",
    )


def _about_freeze(freeze: Freeze) -> Question:
    effect = gettext("Changes to these zones can be published at the times when this freeze would apply.")
    return about_lifting(freeze, gettext("Delete freeze"), [effect], back="settings-freezes")


def about_lifting(rule: ZoneRule, title: str, effects: Iterable[str], *, back: str) -> Question:
    """Return the confirmation page for removing a rule. It shows the effects, and the rule's scope and reason."""
    return Question(title, *effects, str(rule), back=reverse(back))


def lift_rule(
    request: PanelRequest, about: Callable[[], Question], delete: Callable[..., None], done: str, *, back: str
) -> HttpResponse:
    """Remove a rule after the user confirms, add a message, and redirect to the list.

    If the rule no longer exists, show a warning. Raise Forbidden if the user isn't allowed to govern any zone.
    """
    governor(request)
    with reporting(request, RuleUnknown, level=messages.WARNING):
        run_confirmed(request, about(), partial(delete, author=request.user, now=timezone.now()))
        say_done(request, done)
    return redirect(back)


def preview_of(request: PanelRequest, form: type[ScopeForm], reader: Actor) -> HttpResponse | None:
    """Return the sentence about the rule of an unfinished form, or None if no form's script asks for it."""
    if not request.htmx or request.method == "POST":
        return None
    return render(request, "settings/_rule_preview.html", {"form": form(request.GET, reader=reader)})


def governor(request: PanelRequest) -> Actor:
    """Return the signed-in user as an actor. Raise Forbidden if the user isn't allowed to govern any zone."""
    actor = actor_of(request.user)
    if actor is None or not actor.may_somewhere(Right.GOVERN):
        raise Forbidden(Permission.EDIT, gettext("You don’t have permission to manage publishing rules."))
    return actor


def _team(reader: Actor, name: str) -> Team | None:
    text = name.strip()
    if not text:
        return None
    team = teams_known_to(reader).filter(same_but_for_ascii_case("name", text)).first()
    if team is None:
        raise forms.ValidationError(gettext("Team {text} not found.").format(text=text))
    return team
