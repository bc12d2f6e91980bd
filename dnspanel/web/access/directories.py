"""Views of SCIM directories, for administrators: list, add, change, replace the secret, delete."""

from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.errors import DirectoryRefused
from dnspanel.accounts.models import ScimDirectory, Team
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.scim import directories as verbs
from dnspanel.accounts.scim.scim_groups import teams_not_selected
from dnspanel.accounts.scim.scim_people import closed_people, people_count
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.group_rules import RulesField, rules_text
from dnspanel.web.frame.confirm import Question, ask, run_confirmed
from dnspanel.web.frame.forms import PanelForm, switch_field, text_field
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.zones.rights import access


class DirectoryForm(PanelForm):
    """The form for a directory: the rights that its groups grant, and whether it can take over existing accounts."""

    name = text_field(None, verbs.LONGEST_NAME, required=True, autocomplete="off", placeholder="Okta")
    rules = RulesField()
    team_role = forms.ChoiceField(
        label=gettext_lazy("Groups without a rule"),
        required=False,
        choices=[
            ("", gettext_lazy("No rights")),
            ("reader", gettext_lazy("Readers in a team with the same name")),
            ("editor", gettext_lazy("Editors in a team with the same name")),
        ],
        help_text=gettext_lazy("An existing team is only used if you select it below."),
    )
    teams = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Existing teams"),
        required=False,
        coerce=int,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Members of a group with the same name get access to the selected team’s zones."),
    )
    takes_over = switch_field(
        gettext_lazy("Take over existing accounts"),
        gettext_lazy(
            "The directory finds accounts by user name or email address. Administrators and service accounts "
            "are excluded."
        ),
    )

    def __init__(self, *args: Any, directory: ScimDirectory | None = None, **kwargs: Any) -> None:
        if directory is not None:
            kwargs["initial"] = {
                "name": directory.name,
                "rules": rules_text([Rule.from_json(each) for each in directory.rules]),
                "team_role": directory.team_role,
                "teams": directory.teams,
                "takes_over": directory.takes_over,
            }
        super().__init__(*args, **kwargs)
        others = Team.objects.exclude(made_by_directory=directory) if directory is not None else Team.objects.all()
        teams = self.fields["teams"]
        assert isinstance(teams, forms.TypedMultipleChoiceField)
        teams.choices = list(others.order_by("name").values_list("pk", "name"))
        if not teams.choices:
            del self.fields["teams"]

    def terms(self) -> verbs.DirectoryTerms:
        return verbs.DirectoryTerms(**self.cleaned_data | {"teams": tuple(self.cleaned_data.get("teams", ()))})


@require_safe
def directory_list(request: PanelRequest) -> HttpResponse:
    """List the SCIM directories."""
    access.require(request.user, Permission.PEOPLE)
    return render(request, "access/directories.html", {"directories": verbs.directory_rows()})


@require_http_methods(["GET", "HEAD", "POST"])
def directory_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new directory. A POST asks for the password, then adds the directory and shows its secret."""
    access.require(request.user, Permission.PEOPLE)
    form = DirectoryForm(request.POST or None)
    if form.is_valid():
        create = partial(verbs.create_directory, terms=form.terms(), by=request.user, now=timezone.now())
        with form.catching(DirectoryRefused):
            directory, made = run_confirmed(request, _ABOUT_DIRECTORY, create)
            return _page_with_secret(request, directory, made.secret)
    return render(request, "access/directory_new.html", {"form": form}, status=422 if form.is_bound else 200)


_ABOUT_DIRECTORY = Question(
    gettext_lazy("Trust directory"),
    gettext_lazy(
        "People who control the directory can create accounts in the panel, close the directory’s "
        "accounts, and assign roles through its rules."
    ),
    button=gettext_lazy("Trust"),
    back="/people/directories/",
    needs_password=True,
    only_password=True,
)


@require_http_methods(["GET", "HEAD", "POST"])
def directory_detail(request: PanelRequest, directory_id: int) -> HttpResponse:
    """Show a directory, its URL and its closed accounts. A POST asks for the password and changes the directory."""
    access.require(request.user, Permission.PEOPLE)
    directory = verbs.directory_by_id(directory_id)
    form = DirectoryForm(request.POST or None, directory=directory)
    if form.is_valid():
        change = partial(
            verbs.change_directory, directory=directory, terms=form.terms(), by=request.user, now=timezone.now()
        )
        with form.catching(DirectoryRefused):
            run_confirmed(request, _ABOUT_DIRECTORY, change)
            say_done(request, gettext("Directory saved. The new rules apply to all people in the directory."))
            return redirect("people-directory", directory.pk)
    context = {
        "directory": directory,
        "form": form,
        "address": _address(),
        "token": verbs.token_of_directory(directory),
        "count": people_count(directory),
        "closed": closed_people(directory),
        "not_selected": teams_not_selected(directory),
    }
    return render(request, "access/directory.html", context, status=422 if form.is_bound else 200)


@require_POST
def directory_secret(request: PanelRequest, directory_id: int) -> HttpResponse:
    """Replace the directory's secret after a confirmation, and show the new secret once. The old one stops working."""
    access.require(request.user, Permission.PEOPLE)
    directory = verbs.directory_by_id(directory_id)
    question = Question(
        gettext("Rotate the secret for {name}").format(name=directory.name),
        gettext("The old secret stops working immediately, so enter the new one in the directory right away."),
        button=gettext("Rotate secret"),
        back=reverse("people-directory", args=[directory.pk]),
        needs_password=True,
    )
    ask(request, question)
    made = verbs.renew_secret(directory=directory, by=request.user, now=timezone.now())
    return _page_with_secret(request, directory, made.secret)


@require_POST
def directory_delete(request: PanelRequest, directory_id: int) -> HttpResponse:
    """Delete the directory after a confirmation. The accounts remain, but lose the rights from its groups."""
    access.require(request.user, Permission.PEOPLE)
    directory = verbs.directory_by_id(directory_id)
    question = Question(
        gettext("Delete {name}").format(name=directory.name),
        gettext("The directory’s secret stops working. People lose the rights from the directory’s groups."),
        gettext(
            "Open accounts stay open, and closed accounts stay closed. Administrators can change them in the panel."
        ),
        button=gettext("Delete"),
        back=reverse("people-directory", args=[directory.pk]),
    )
    ask(request, question)
    verbs.delete_directory(directory=directory, by=request.user, now=timezone.now())
    say_done(request, gettext("{name} deleted."), name=directory.name)
    return redirect("people-directories")


def _page_with_secret(request: PanelRequest, directory: ScimDirectory, secret: str) -> HttpResponse:
    context = {"directory": directory, "secret": secret, "address": _address()}
    page = render(request, "access/directory_made.html", context)
    return show_once(request, page, after=reverse("people-directory", args=[directory.pk]))


def _address() -> str:
    return f"{settings.PANEL_URL}/scim/v2"
