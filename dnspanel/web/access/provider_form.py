"""The form fields that all kinds of sign-in providers share, such as name, mail domains and group rules."""

from datetime import datetime
from typing import Any

from django import forms

from dnspanel.accounts.models import SignInProvider, User
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.links import rules_of
from dnspanel.accounts.texts.canonical import ascii_lower
from dnspanel.texts import gettext_lazy
from dnspanel.web.access.group_rules import RulesField, rules_text
from dnspanel.web.frame.forms import MONO, PanelForm, split_list


def attribute_field(
    label: str, initial: str, max_length: int, help_text: str = "", *, required: bool = True
) -> forms.CharField:
    """Return a form field for the name that the provider uses for an attribute of a person."""
    return forms.CharField(
        label=label,
        max_length=max_length,
        required=required,
        initial=initial,
        help_text=help_text,
        widget=forms.TextInput(attrs=MONO),
    )


class CommonForm(PanelForm):
    """The base class of the forms for sign-in providers, with the fields that every kind of provider has."""

    name = forms.CharField(label=gettext_lazy("Name on the button"), max_length=40)
    slug = forms.CharField(
        label=gettext_lazy("Word in the URL"),
        max_length=40,
        help_text=gettext_lazy("Lowercase letters, digits and dashes. It can’t be changed later."),
        widget=forms.TextInput(attrs=MONO),
    )
    rules = RulesField()
    makes_people = forms.BooleanField(
        label=gettext_lazy("Create accounts at first sign-in"),
        required=False,
        help_text=gettext_lazy(
            "A verified mail address is required. It must match the mail domains, and the person must match a "
            "group, if you enter any."
        ),
    )
    links_by_mail = forms.BooleanField(
        label=gettext_lazy("A verified mail address opens the account that has it"),
        required=False,
        help_text=gettext_lazy(
            "Only for a provider that you trust with every account here. Else people link theirs themselves."
        ),
    )
    trusts_mail = forms.BooleanField(
        label=gettext_lazy("It verifies every address, though it does not say so"),
        required=False,
        help_text=gettext_lazy("Select this only if people can’t change their own address there."),
    )
    mail_domains = forms.CharField(
        label=gettext_lazy("Mail domains"),
        required=False,
        max_length=rows.MOST_DOMAINS * 255,
        help_text=gettext_lazy("With commas between them; of first sign-ins. Empty: any."),
        widget=forms.TextInput(attrs=MONO),
    )
    session_hours = forms.IntegerField(
        label=gettext_lazy("Hours after which people sign in again"),
        min_value=1,
        max_value=rows.LONGEST_SESSION,
        initial=12,
        help_text=gettext_lazy(
            "Until then they keep what their groups gave, also when the provider has taken a group away."
        ),
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        if provider is not None:
            kwargs["initial"] = self.values(provider)
        super().__init__(*args, **kwargs)
        if provider is not None:
            self.fields["slug"].disabled = True

    def values(self, provider: SignInProvider) -> dict[str, object]:
        """Return the form's initial values for an existing provider."""
        values = {name: getattr(provider, name) for name in self.base_fields if hasattr(provider, name)}
        return values | {"rules": rules_text(rules_of(provider)), "mail_domains": ", ".join(provider.mail_domains)}

    def create(self, *, by: User, now: datetime) -> SignInProvider:
        """Create the provider from the form. Raise ProviderRefused if the form's values are invalid."""
        raise NotImplementedError

    def change(self, provider: SignInProvider, *, by: User, now: datetime) -> None:
        """Change the provider to the form's values. Raise ProviderRefused if they are invalid."""
        raise NotImplementedError

    def common(self) -> dict[str, Any]:
        """Return the form's values for the fields of `CommonTerms`."""
        return {name: self.cleaned_data[name] for name in rows.CommonTerms.__dataclass_fields__}

    def clean_mail_domains(self) -> tuple[str, ...]:
        listed = split_list(ascii_lower(self.cleaned_data["mail_domains"]))
        return tuple(dict.fromkeys(listed))
