"""Views of password links: request a link by email, and set a password with a link."""

from allauth.core import ratelimit
from django import forms
from django.conf import settings
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.find_people import has_mail
from dnspanel.accounts.errors import AccountRefused, LinkDead
from dnspanel.accounts.models import User
from dnspanel.accounts.sign_in.password_links import person_of_link, set_password_by_link
from dnspanel.accounts.tasks import send_password_link
from dnspanel.accounts.texts.canonical import ascii_lower
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.wake import wake
from dnspanel.web.frame.forms import PanelForm
from dnspanel.web.frame.layout import no_store, say_done

_MAIL_LIFETIME = 600.0  # seconds until the task expires, because people don't wait longer for an email


class ForgottenForm(PanelForm):
    """The form for the email address of an account, to which a password link is sent."""

    email = forms.EmailField(
        label=gettext_lazy("Email address"), widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True})
    )


class NewPasswordForm(PanelForm):
    """The form for a new password, typed only once because the user can view it or request another link."""

    password = forms.CharField(
        label=gettext_lazy("New password"),
        strip=False,
        max_length=200,
        help_text=gettext_lazy("Use at least 10 characters."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "autofocus": True}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def forgotten(request: HttpRequest) -> HttpResponse:
    """Ask for an email address and send a password link. The page doesn't reveal whether the account exists."""
    if not settings.EMAIL_HOST:
        raise Http404
    form = ForgottenForm(request.POST or None)
    if form.is_valid():
        email = ascii_lower(form.cleaned_data["email"])
        if (refusal := ratelimit.consume_or_429(request, action="reset_password", key=email)) is not None:
            assert isinstance(refusal, HttpResponse)
            return refusal
        if user := User.objects.filter(has_mail(form.cleaned_data["email"]), is_active=True).first():
            wake(send_password_link, user.pk, lifetime=_MAIL_LIFETIME)
        return render(request, "account/password_sent.html", {"email": email})
    return render(request, "account/password_forgotten.html", {"form": form}, status=422 if form.is_bound else 200)


@no_store
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def by_link(request: HttpRequest, link: str) -> HttpResponse:
    """Show the form that a password link opens. A POST sets the password, once, and redirects to the sign-in page."""
    form = NewPasswordForm(request.POST or None)
    try:
        person = person_of_link(link)
        if form.is_valid():
            set_password_by_link(link=link, password=form.cleaned_data["password"], now=timezone.now())
            logout(request)  # also signs out any other user of this browser
            say_done(request, gettext("Password set. Sign in with your new password."))
            return redirect("account_login")
    except LinkDead as exc:
        return render(request, "account/password_link_dead.html", {"refusal": str(exc)}, status=410)
    except AccountRefused as exc:
        form.refuse_all(exc.fields)
    context = {"form": form, "person": person}
    return render(request, "account/password_by_link.html", context, status=422 if form.is_bound else 200)
