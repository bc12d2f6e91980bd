"""Errors about accounts, as one tree.

    AccountError
    ├── BadInvitation
    │   ├── InvitationUnknown
    │   ├── InvitationUsed
    │   └── InvitationExpired
    ├── AccountRefused        a field of the new account is invalid
    ├── PersonUnknown
    ├── LastAdministrator
    ├── TeamUnknown
    ├── TeamRefused           a field of the team or a membership is invalid
    │   └── TeamNameTaken
    ├── RoleUnknown
    ├── RoleRefused           a field of the role is invalid, or a person has the role
    ├── GrantUnknown
    ├── GrantRefused          a field of the grant is invalid, or it gives more than its giver has
    ├── SecondFactorRefused
    │   ├── CodeWrong
    │   ├── CodeUsed          the code is correct but was used before
    │   ├── TooManyCodes      after too many wrong codes, even correct ones are refused for a time
    │   ├── SecondFactorSetUp the person already has an authenticator app
    │   ├── SecondFactorMissing
    │   ├── PasskeyRefused    the browser did not send a valid passkey response
    │   └── PasskeyUnknown
    ├── SessionUnknown
    ├── LinkDead              a password link that was used, is too old or never existed
    ├── ProviderUnknown
    ├── ProviderRefused       a field of the provider is invalid
    ├── SignInRefused         the provider's answer does not allow a sign-in
    ├── DirectoryUnknown
    ├── DirectoryRefused      a field of the directory is invalid
    ├── DirectoryFull         the directory, or a group, has the maximum number of people, groups or members
    ├── GroupUnknown
    ├── Taken                 another person or group already has the name or address that a directory sets
    ├── OutOfReach            a directory would change an administrator whose role it did not give
    │   └── AddressKept       or the address of an account that has more than the directory gave it
    ├── NotYours              a token of another person
    ├── AboveYou              a token would change its owner, or a person with the owner's role or a higher one
    │   ├── OpensMore         a token would open an account that can do more than the token
    │   └── AllRightsNeeded   only an administrator, or a token with all their rights, can do this
    ├── TokenRefused          a field of the new token is invalid
    │   ├── TsigNameTaken
    │   └── TokenQuotaExceeded the owner, or a team of theirs, has reached the token quota
    ├── RotationRefused       the master key cannot be rotated now, or not to this key
    └── BadToken              the token cannot be used; its user never sees the reason
        ├── TokenUnknown
        ├── TokenDead         revoked, expired, unused for too long, or its owner's account is closed
        └── TokenElsewhere    used from outside of its networks

Errors about fields are also field_faults.FieldsRefused. Errors about unknown objects, also of other packages, are also
NotFound.
"""

from datetime import datetime

from dnspanel.field_faults import FieldsRefused, name_taken
from dnspanel.texts import gettext, gettext_noop


class NotFound(Exception):
    """Base class of errors about objects that don't exist or are hidden from the user. `text` is a default message."""

    text = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or gettext(self.text))


class AccountError(Exception):
    """The base class of errors about accounts. Users can read the messages and fix the cause."""


class BadInvitation(AccountError):
    """The base class of errors about invitation links that can't be used to create an account."""


class InvitationUnknown(BadInvitation):
    """No invitation has this secret."""

    def __init__(self) -> None:
        super().__init__(gettext("This invitation link isn’t valid. Copy the whole link, or ask for a new one."))


class InvitationUsed(BadInvitation):
    """The invitation was already used to create an account."""

    def __init__(self) -> None:
        super().__init__(gettext("This invitation has already been used. Sign in, or ask for a new one."))


class InvitationExpired(BadInvitation):
    """The invitation has expired."""

    def __init__(self, expired_at: datetime) -> None:
        self.expired_at = expired_at
        super().__init__(
            gettext("This invitation expired on {expired_at} UTC. Ask for a new one.").format(
                expired_at=f"{expired_at:%Y-%m-%d %H:%M}"
            )
        )


class AccountRefused(AccountError, FieldsRefused):
    """The account can't be created or changed with these values. `fields` maps each field to its errors."""


class PersonUnknown(AccountError, NotFound):
    """No account has this id."""

    text = gettext_noop("Person not found.")


class LastAdministrator(AccountError):
    """The change isn't allowed because this user is the last administrator."""

    def __init__(self, username: str) -> None:
        self.username = username
        super().__init__(
            gettext(
                "{username} is the last administrator. Assign the administrator role to another person first."
            ).format(username=username)
        )


class TeamUnknown(AccountError, NotFound):
    """No team has this id."""

    text = gettext_noop("Team not found.")


class TeamRefused(AccountError, FieldsRefused):
    """The team or a membership can't be stored with these values. `fields` maps each field to its errors."""


class TeamNameTaken(TeamRefused):
    """A team with this name already exists."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__({"name": [name_taken(gettext("A team named {name} already exists.").format(name=name))]})


class RoleUnknown(AccountError, NotFound):
    """No custom role has this id."""

    text = gettext_noop("Role not found.")


class RoleRefused(AccountError, FieldsRefused):
    """The custom role cannot be stored or deleted. `fields` maps each field to its errors."""


class GrantUnknown(AccountError, NotFound):
    """No grant has this id."""

    text = gettext_noop("Grant not found.")


class GrantRefused(AccountError, FieldsRefused):
    """The grant is invalid, or the author lacks rights that a change needs. `fields` maps each field to its errors."""


class SecondFactorRefused(AccountError):
    """The base class of errors about second factors."""


class CodeWrong(SecondFactorRefused):
    """The code is neither the app's current code nor one of the user's recovery codes."""

    def __init__(self) -> None:
        super().__init__(gettext("Incorrect code. The authenticator app shows a new code every 30 seconds."))


class CodeUsed(SecondFactorRefused):
    """The code is correct but was used before."""

    def __init__(self) -> None:
        super().__init__(gettext("This code was already used. Wait for the next code."))


class TooManyCodes(SecondFactorRefused):
    """Too many wrong codes were sent. Even a correct code is rejected for some minutes."""

    def __init__(self) -> None:
        super().__init__(gettext("Too many incorrect codes. Wait a few minutes, or ask an administrator."))


class SecondFactorSetUp(SecondFactorRefused):
    """The user already has an authenticator app."""

    def __init__(self) -> None:
        super().__init__(gettext("An authenticator app is already set up. Disable it first."))


class SecondFactorMissing(SecondFactorRefused):
    """The user has no other second factor, so recovery codes can't be created."""

    def __init__(self) -> None:
        super().__init__(gettext("Set up an authenticator app or a passkey first."))


class PasskeyRefused(SecondFactorRefused):
    """The browser's response is not a valid response to the panel's challenge, or the user has too many passkeys."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or gettext("This passkey wasn’t accepted. Try again."))


class PasskeyUnknown(SecondFactorRefused, NotFound):
    """The user doesn't have this passkey."""

    text = gettext_noop("Passkey not found.")


class SessionUnknown(AccountError, NotFound):
    """The user has no session with this id, or the session has ended."""

    text = gettext_noop("This session has ended.")


class LinkDead(AccountError):
    """The link to set a password is invalid, was used or is older than a day, or the account has changed."""

    def __init__(self) -> None:
        super().__init__(
            gettext(
                "This link has already been used or is older than a day, or the account has changed. Ask for a new one."
            )
        )


class ProviderUnknown(AccountError, NotFound):
    """No provider has this id."""

    text = gettext_noop("Provider not found.")


class ProviderRefused(AccountError, FieldsRefused):
    """The provider can't be stored with these values. `fields` maps each field to its errors."""


class SignInRefused(AccountError):
    """A sign-in with a provider, or a link to it, isn't allowed. `reason` is a code for the audit log (`audience`)."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class DirectoryUnknown(AccountError, NotFound):
    """No directory has this id."""

    text = gettext_noop("Directory not found.")


class DirectoryRefused(AccountError, FieldsRefused):
    """The directory can't be stored with these values. `fields` maps each field to its errors."""


class DirectoryFull(AccountError):
    """The directory or a group would have more than the maximum number of users, groups or members."""

    def __init__(self, most: int, what: str) -> None:
        super().__init__(gettext("The maximum is {most:,} {what}.").format(most=most, what=what))


class GroupUnknown(AccountError):
    """The directory has no group with this id."""

    def __init__(self) -> None:
        super().__init__(gettext("Group not found."))


class Taken(AccountError):
    """Another account already has the user name or address, or another group has the name."""


class OutOfReach(AccountError):
    """A directory isn't allowed to change an administrator whose role didn't come from the directory's rules."""

    def __init__(self, username: str) -> None:
        super().__init__(
            gettext(
                "The directory didn’t assign {username}’s administrator role, so only administrators can change "
                "this account."
            ).format(username=username)
        )


class AddressKept(OutOfReach):
    """A directory tried to change the address of an account with a password, passkey, role or rights of its own."""

    def __init__(self, username: str) -> None:
        AccountError.__init__(
            self,
            gettext(
                "The directory can’t change {username}’s email address, because this account also has a password, "
                "a role or rights from the panel."
            ).format(username=username),
        )


class NotYours(AccountError):
    """The token belongs to another user."""

    def __init__(self) -> None:
        super().__init__(gettext("This token belongs to another person."))


class AboveYou(AccountError):
    """The token isn't allowed to change its owner, or a user with the owner's role or a higher one.

    Raised only for tokens with fewer rights than their owner.
    """

    def __init__(self, username: str) -> None:
        super().__init__(
            gettext(
                "This token isn’t allowed to change {username}. It can only change people with a lower role than "
                "its owner."
            ).format(username=username)
        )


class OpensMore(AboveYou):
    """The token isn't allowed to decide who owns or signs in to an account that has more rights than the token."""

    def __init__(self, username: str) -> None:
        message = gettext("To do this, the token needs all of {username}’s rights.")
        AccountError.__init__(self, message.format(username=username))


class AllRightsNeeded(AboveYou):
    """The token doesn't have all rights of an administrator."""

    def __init__(self) -> None:
        AccountError.__init__(self, gettext("To do this, the token needs all rights of an administrator."))


class TokenRefused(AccountError, FieldsRefused):
    """The token can't be created, changed, rotated or transferred like this. `fields` maps each field to its errors."""


class TsigNameTaken(TokenRefused):
    """A TSIG key with this name already exists."""

    def __init__(self, name: str) -> None:
        super().__init__({"name": [name_taken(gettext("A TSIG key named {name} already exists.").format(name=name))]})


class TokenQuotaExceeded(TokenRefused):
    """The owner, or one of the owner's teams, has reached the token quota."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            {"token": [gettext("{reason} You can revoke tokens that are no longer used.").format(reason=reason)]}
        )


class RotationRefused(AccountError):
    """The master key can't be rotated now, or can't be rotated to this key."""


class BadToken(AccountError):
    """The base class of errors about tokens that cannot be used."""


class TokenUnknown(BadToken, NotFound):
    """No token has this secret or id."""

    text = gettext_noop("Token not found.")


class TokenDead(BadToken):
    """The token is revoked, expired or unused for too long, or its owner's account is closed."""


class TokenElsewhere(BadToken):
    """The token was used from an address outside of its networks."""

    def __init__(self) -> None:
        super().__init__(gettext("This token can’t be used from this IP address."))
