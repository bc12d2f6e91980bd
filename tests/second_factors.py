"""A simulated authenticator app, as on a person's phone."""

from datetime import datetime

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.sessions.backends.signed_cookies import SessionStore

from dnspanel.accounts.models import User
from dnspanel.accounts.sign_in.second_factor import begin_set_up, set_up_app

STEP = 30  # seconds


class App:
    """An authenticator app that knows one secret."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def code(self, at: datetime, steps: int = 0) -> str:
        """Return the code at this time, or `steps` time steps later."""
        return str(format_hotp_value(hotp_value(self.secret, int(at.timestamp()) // STEP + steps)))

    def wrong_code(self, at: datetime) -> str:
        """Return a six-digit code that isn't valid near this time."""
        near = {self.code(at, steps) for steps in range(-3, 4)}
        return next(code for code in (f"{number:06}" for number in range(10)) if code not in near)


def set_up(user: User, at: datetime) -> tuple[App, list[str]]:
    """Set up an app for this user two minutes before `at`. Return the app and the recovery codes."""
    session = SessionStore()
    app = App(begin_set_up(session))
    before = datetime.fromtimestamp(at.timestamp() - 4 * STEP, at.tzinfo)
    return app, set_up_app(user=user, session=session, code=app.code(before), now=before)
