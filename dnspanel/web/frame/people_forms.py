"""Forms for invitations, roles and accounts. Forms never save."""

from django import forms

from dnspanel.accounts.models import OwnRole, Role
from dnspanel.accounts.providers.ldap.visit import LONGEST_NAME, LONGEST_PASSWORD
from dnspanel.accounts.rights.own_roles import role_by_id
from dnspanel.texts import gettext_lazy
from dnspanel.web.frame.forms import PanelForm, text_field


class InviteForm(PanelForm):
    """The form that chooses the role of an invited person."""

    role = forms.ChoiceField(choices=Role.choices, initial=Role.EDITOR)


def role_choices() -> list[tuple[str, str]]:
    """Return the built-in roles, then the custom roles. The keys match `User.role_key`. Makes one query."""
    own = OwnRole.objects.order_by("name").values_list("pk", "name")
    return [*Role.choices, *((f"own:{pk}", name) for pk, name in own)]


class RoleForm(PanelForm):
    """The form for a person's new role."""

    role = forms.ChoiceField(choices=role_choices)

    def chosen_role(self) -> tuple[Role, OwnRole | None]:
        """Return a built-in role and None, or MEMBER and a custom role. Raise RoleUnknown if the role was deleted."""
        chosen = self.cleaned_data["role"]
        if chosen in Role.values:
            return Role(chosen), None
        return Role.MEMBER, role_by_id(int(chosen.removeprefix("own:")))


class LdapPasswordForm(PanelForm):
    """The form for a person's name and password on an LDAP server."""

    typed = text_field(
        gettext_lazy("LDAP user name"),
        LONGEST_NAME,
        required=True,
        autocomplete="username",
        autocapitalize="none",
        spellcheck="false",
    )
    password = forms.CharField(
        label=gettext_lazy("LDAP password"),
        strip=False,
        max_length=LONGEST_PASSWORD,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class WelcomeForm(PanelForm):
    """The form for creating an account from an invitation."""

    username = text_field(
        gettext_lazy("Name"), 150, required=True, autofocus=True, autocomplete="username", spellcheck="false"
    )
    email = forms.EmailField(
        label=gettext_lazy("Email address"), widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    password = forms.CharField(
        strip=False,
        max_length=200,
        help_text=gettext_lazy("Use at least 10 characters."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
