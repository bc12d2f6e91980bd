"""Delay the start of a session until the user has entered the second factor that the sign-in needs."""

from allauth.account.stages import LoginStageController
from allauth.mfa.stages import AuthenticateStage
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User

_HASH = "session-hash"


class SecondFactorStage(AuthenticateStage):
    """allauth's stage between a correct password and the second factor. It can't continue if `is_stale` is True."""

    def handle(self) -> tuple[HttpResponse | None, bool]:
        response, goes_on = super().handle()
        if response is not None:
            user = self.user
            self.state[_HASH] = user.get_session_auth_hash()
            audit.record(action="second-factor.wanted", by=None, now=timezone.now(), target=user.username)
        return response, goes_on

    @property
    def user(self) -> User:
        user = self.login.user
        assert isinstance(user, User)
        return user

    @property
    def is_stale(self) -> bool:
        """True if the account was closed, its password changed, or its sessions ended since the first step."""
        hashed = self.user.get_session_auth_hash()
        return not self.user.is_active or not constant_time_compare(hashed, self.state.get(_HASH, ""))


def stage_of(request: HttpRequest) -> SecondFactorStage | None:
    """Return this browser's pending second-factor sign-in, or None if it is missing or stale.

    Also return None if the user is signed in.
    """
    if request.user.is_authenticated:
        return None
    stage = LoginStageController.enter(request, SecondFactorStage.key)
    return None if stage is None or stage.is_stale else stage
