"""Views of roles: a matrix of built-in and custom roles, and forms to create, change and delete a custom role."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import PERMISSIONS, ROLE_RIGHTS, Permission
from dnspanel.accounts.errors import RoleRefused
from dnspanel.accounts.models import OwnRole, Role
from dnspanel.accounts.rights import own_roles as verbs
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.describe_grant import RIGHT_DESCRIPTIONS
from dnspanel.web.frame.confirm import Question, run_confirmed
from dnspanel.web.frame.forms import PanelForm, text_field
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.zones.rights import access

# A custom role gets these permissions through its rights over zones.
_BY_RIGHTS = frozenset({Permission.READ, Permission.EDIT})
_OFFERED = [each for each in Permission if each in verbs.GIVEABLE - _BY_RIGHTS]


class OwnRoleForm(PanelForm):
    """The form for a custom role: its name, rights and permissions."""

    name = text_field(None, verbs.LONGEST_NAME, required=True, autocomplete="off", placeholder=gettext_lazy("Auditor"))
    rights = forms.MultipleChoiceField(
        label=gettext_lazy("Rights in all zones"),
        required=False,
        choices=[(str(right), words) for right, words in RIGHT_DESCRIPTIONS.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    permissions = forms.MultipleChoiceField(
        label=gettext_lazy("Other rights"),
        required=False,
        choices=[(str(each), gettext_lazy(each.value)) for each in _OFFERED],
        widget=forms.CheckboxSelectMultiple,
    )


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the matrix, which shows one role. A built-in role has no `id`, and its `people` aren't counted."""

    name: str
    rights: frozenset[str]
    permissions: frozenset[str]
    people: int = 0
    id: int | None = None


@require_safe
def role_list(request: PanelRequest) -> HttpResponse:
    """Show every role with its rights and permissions."""
    access.require(request.user, Permission.PEOPLE)
    return _page(request, OwnRoleForm())


@require_POST
def role_new(request: PanelRequest) -> HttpResponse:
    """Create a custom role."""
    access.require(request.user, Permission.PEOPLE)
    form = OwnRoleForm(request.POST)
    if form.is_valid():
        with form.catching(RoleRefused):
            role = verbs.create_role(**form.cleaned_data, by=request.user, now=timezone.now())
            say_done(request, gettext("Role {name} created. You can assign it in the list of people."), name=role.name)
            return redirect("people-roles")
    return _page(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
def role_change(request: PanelRequest, role_id: int) -> HttpResponse:
    """Show a custom role. A POST changes the role for everyone who has it."""
    access.require(request.user, Permission.PEOPLE)
    role = verbs.role_by_id(role_id)
    initial = {"name": role.name, "rights": role.rights, "permissions": role.permissions}
    form = OwnRoleForm(request.POST or None, initial=initial)
    if form.is_valid():
        with form.catching(RoleRefused):
            verbs.change_role(role=role, **form.cleaned_data, by=request.user, now=timezone.now())
            say_done(request, gettext("Role saved. The change applies to everyone with this role."))
            return redirect("people-roles")
    people = role.people.order_by("username")[:50]
    context = {"role": role, "form": form, "people": people}
    return render(request, "access/role.html", context, status=422 if form.is_bound else 200)


@require_POST
def role_delete(request: PanelRequest, role_id: int) -> HttpResponse:
    """Delete a custom role, after a confirmation. A role that is in use is not deleted."""
    access.require(request.user, Permission.PEOPLE)
    role = verbs.role_by_id(role_id)
    question = Question(
        gettext("Delete role {name}").format(name=role.name),
        gettext("You’ll no longer be able to assign this role."),
        gettext("The audit log will still show the role’s rights."),
        button=gettext("Delete"),
        back=f"/people/roles/{role.pk}/",
    )
    delete = partial(verbs.delete_role, role=role, by=request.user, now=timezone.now())
    with reporting(request, RoleRefused, text=gettext("{exc} Assign another role to these people first.")):
        run_confirmed(request, question, delete)
        say_done(request, gettext("Role {name} deleted."), name=role.name)
        return redirect("people-roles")
    return redirect("people-role-change", role.pk)


def _page(request: PanelRequest, form: OwnRoleForm) -> HttpResponse:
    columns = [
        Column(role.label, frozenset(map(str, ROLE_RIGHTS.get(role, ()))), frozenset(map(str, PERMISSIONS[role])))
        for role in Role
    ]
    columns += [
        Column(role.name, frozenset(role.rights), frozenset(role.permissions), role.people_count, role.pk)
        for role in OwnRole.objects.annotate(people_count=Count("people")).order_by("name")
    ]
    lines: list[tuple[str, list[bool]]] = [
        (words, [str(right) in column.rights for column in columns]) for right, words in RIGHT_DESCRIPTIONS.items()
    ]
    lines += [
        (gettext(each.value), [str(each) in column.permissions for column in columns])
        for each in Permission
        if each not in _BY_RIGHTS
    ]
    context: dict[str, Any] = {"columns": columns, "lines": lines, "form": form}
    return render(request, "access/roles.html", context, status=422 if form.is_bound else 200)
