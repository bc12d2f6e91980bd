"""Confirmation pages for actions that are hard to undo or give extensive access.

The page lists the effects. Actions that give extensive access also require the password or a second-factor code.

The page is the response to the POST that requests the action. Its form repeats that POST with a confirmation. Therefore
the page needs no script, and no view can perform the action without the confirmation.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TypeVar

from allauth.core import ratelimit
from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from dnspanel.accounts.errors import SecondFactorRefused
from dnspanel.accounts.providers.ldap.backend import message_of
from dnspanel.accounts.sign_in.second_factor import second_factors_of, use_code
from dnspanel.rehearsal import rehearse
from dnspanel.texts import format_lazy, gettext, gettext_lazy
from dnspanel.web.frame.layout import PanelRequest

T = TypeVar("T")

# For this time after a sign-in, a password or a code, the panel doesn't ask for a password.
PASSWORD_HOLDS = timedelta(minutes=10)
_PASSWORD_AT = "password-at"
_LONGEST_CODE = 40
_OF_THE_QUESTION = frozenset({"csrfmiddlewaretoken", "confirmed", "password", "second_factor"})


class Question:
    """The contents of a confirmation page: title, effects, button text (default: the title), and URL for canceling.

    If `only_password` is True, there is no confirmation page if the password was given recently.
    """

    def __init__(
        self,
        title: str,
        *effects: str,
        back: str,
        button: str | None = None,
        needs_password: bool = False,
        only_password: bool = False,
        is_dangerous: bool = True,
    ) -> None:
        self.title, self.effects, self.back = title, effects, back
        self.button = title if button is None else button
        self.needs_password, self.only_password, self.is_dangerous = needs_password, only_password, is_dangerous


def before_secret(*, forged: str, back: str) -> Question:
    """Return the confirmation page that requires the password before a signing secret is shown.

    `forged` describes what someone with the secret could send. The function is called at import time, so its texts are
    translated lazily, for each reader.
    """
    return Question(
        gettext_lazy("Create signing secret"),
        format_lazy(gettext_lazy("Anyone with the secret can send the receiver {forged}."), forged=forged),
        button=gettext_lazy("Create secret"),
        back=back,
        needs_password=True,
        only_password=True,
        is_dangerous=False,
    )


class Unconfirmed(Exception):
    """Raised while the user hasn't confirmed an action. `SignedInMiddleware` responds with the confirmation page."""

    def __init__(self, page: HttpResponse) -> None:
        super().__init__()
        self.page = page


def ask(request: PanelRequest, question: Question) -> None:
    """Raise Unconfirmed until the user has confirmed the action and entered the password, if required."""
    run_confirmed(request, question, lambda: None)


def run_confirmed(
    request: PanelRequest, question: Question | None, act: Callable[[], T], *, form: forms.BaseForm | None = None
) -> T:
    """Run the action and return its result if the user has confirmed it, otherwise raise Unconfirmed.

    No confirmation is needed if `question` is None, or if it only requires a password that the user entered recently.
    Before the confirmation page is shown, the action runs once and is rolled back. If the action is refused, by an
    exception or an error on the form, the caller gets the refusal before the user types a password.
    """
    now = timezone.now()
    wants_password = question is not None and question.needs_password and not _password_is_recent(request, now)
    if question is None or (question.only_password and not wants_password):
        return act()
    fault = ""
    if request.POST.get("confirmed") == "yes":
        fault = _fault_of_proof(request, now) if wants_password else ""
        if not fault:
            return act()
    else:
        with rehearse():
            result = act()
        if form is not None and form.errors:
            return result
    raise Unconfirmed(_page(request, question, fault, wants_password=wants_password))


def _page(request: PanelRequest, question: Question, fault: str, *, wants_password: bool) -> HttpResponse:
    context = {
        "question": question,
        "wants_password": wants_password,
        "fault": fault,
        "has_password": request.user.has_password,
        "may_send_code": wants_password and bool(second_factors_of(request.user).codes),
        "sent": list(_sent_fields(request)),
    }
    response = render(request, "confirm.html", context, status=422 if fault else 200)
    response["Cache-Control"] = "no-store"  # the repeated fields can contain a secret
    return response


def note_password(request: HttpRequest, now: datetime) -> None:
    """Record in the session that the user has just proved their identity."""
    request.session[_PASSWORD_AT] = now.timestamp()


def note_sign_in(*, request: HttpRequest | None, user: AbstractBaseUser, **signal: object) -> None:
    """Record a sign-in as a proof of identity. Receives the signal `user_logged_in`."""
    if request is not None and hasattr(request, "session"):
        note_password(request, timezone.now())


def _password_is_recent(request: PanelRequest, now: datetime) -> bool:
    age = now.timestamp() - float(request.session.get(_PASSWORD_AT, 0))
    return 0 <= age < PASSWORD_HOLDS.total_seconds()


def _fault_of_proof(request: PanelRequest, now: datetime) -> str:
    """Check the password or code. Return an error message, or record the proof and return an empty string."""
    password, code = request.POST.get("password", ""), request.POST.get("second_factor", "")
    if not (password or code):
        return gettext("Enter your password.") if request.user.has_password else gettext("Enter a two-factor code.")
    if not ratelimit.consume(request, action="reauthenticate", user=request.user):
        return gettext("Too many attempts. Wait a minute, then try again.")
    if not password:
        try:
            use_code(user=request.user, code=code[:_LONGEST_CODE], address=request.META.get("REMOTE_ADDR", ""), now=now)
        except SecondFactorRefused as exc:
            return str(exc)
    # With the username, as at sign-in, so that the audit log records a wrong password.
    elif authenticate(request, username=request.user.get_username(), password=password) != request.user:
        return message_of(request) or gettext("Incorrect password.")
    note_password(request, now)
    return ""


def _sent_fields(request: PanelRequest) -> Iterator[tuple[str, str]]:
    """Yield the POST fields of the requested action. The confirmation form sends them again."""
    for name, values in request.POST.lists():
        if name not in _OF_THE_QUESTION:
            yield from ((name, value) for value in values)
