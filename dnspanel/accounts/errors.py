"""Errors about people, as one tree.

AccountError
├── BadInvitation
│   ├── InvitationUnknown
│   ├── InvitationUsed
│   └── InvitationExpired
├── AccountRefused        a field of the new account is not acceptable
├── PersonUnknown
├── LastAdministrator
├── TeamUnknown
├── TeamRefused           a field of the team or a membership is not acceptable
│   └── TeamNameTaken
├── RoleUnknown
├── RoleRefused           a field of the role is not acceptable, or a person has it
├── GrantUnknown
├── GrantRefused          a field of the grant is not acceptable, or it gives more than its giver has
├── SecondFactorRefused
│   ├── CodeWrong
│   ├── CodeUsed          it was right, and was taken before
│   ├── TooManyCodes      wrong ones; not even a right one is accepted now
│   ├── SecondFactorSetUp there is an authenticator app already
│   ├── SecondFactorMissing
│   ├── PasskeyRefused    what a browser sent is no answer of a passkey
│   └── PasskeyUnknown
├── SessionUnknown
├── LinkDead              a link that sets a password was used, is too old, or never was one
├── ProviderUnknown
├── ProviderRefused       a field of the provider is not acceptable
├── SignInRefused         the provider's answer does not allow a sign-in
├── DirectoryUnknown
├── DirectoryRefused      a field of the directory is not acceptable
├── DirectoryFull         it has as many people or groups, or a group as many members, as there may be
├── GroupUnknown
├── Taken                 a person or a group of a directory would have the name of another one
├── OutOfReach            a directory would change an administrator whom it has not made one
│   └── AddressKept       or the address of an account that is more than the directory made it
├── NotYours              a token of another person
├── AboveYou              a token would change its owner, or a person at or above them
│   └── OpensMore         a token would open an account that can do more than the token
├── TokenRefused          a field of the new token is not acceptable
│   ├── TsigNameTaken
│   └── TokenQuotaExceeded the owner, or a team of theirs, has as many tokens as they may
├── RotationRefused       the master key cannot be rotated like this
└── BadToken              a token that opens nothing; the reason is never shown to its user
    ├── TokenUnknown
    ├── TokenDead         revoked, expired, unused for too long, or its owner's account is closed
    └── TokenElsewhere    used from outside of its networks

Where a field is not acceptable, it is a field_faults.FieldsRefused too.
"""

from datetime import datetime

from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext


class AccountError(Exception):
    """The base of errors about accounts. A person can read and fix each of them."""


class BadInvitation(AccountError):
    """The link makes no account."""


class InvitationUnknown(BadInvitation):
    """No invitation has this secret."""

    def __init__(self) -> None:
        super().__init__(gettext("This link is not an invitation. Copy the whole link, or ask for a new one."))


class InvitationUsed(BadInvitation):
    """The invitation has made its one account."""

    def __init__(self) -> None:
        super().__init__(gettext("This invitation has been used. Sign in, or ask for a new one."))


class InvitationExpired(BadInvitation):
    """The invitation is too old."""

    def __init__(self, expired_at: datetime) -> None:
        self.expired_at = expired_at
        super().__init__(
            gettext("This invitation expired on {expired_at:%Y-%m-%d at %H:%M} UTC. Ask for a new one.").format(
                expired_at=expired_at
            )
        )


class AccountRefused(AccountError, FieldsRefused):
    """The account cannot be made like this; `fields` maps each field to what is wrong with it."""


class PersonUnknown(AccountError):
    """No person has this id."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such person."))


class LastAdministrator(AccountError):
    """This person is the last administrator."""

    def __init__(self, username: str) -> None:
        self.username = username
        super().__init__(
            gettext("{username} is the last administrator. Make somebody else administrator first.").format(
                username=username
            )
        )


class TeamUnknown(AccountError):
    """No team has this id."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such team."))


class TeamRefused(AccountError, FieldsRefused):
    """The team cannot be like this; `fields` maps each field to what is wrong with it."""


class TeamNameTaken(TeamRefused):
    """A team of this name exists."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__({"name": [gettext("There is a team {name} already.").format(name=name)]})


class RoleUnknown(AccountError):
    """No role of one's own has this id."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such role."))


class RoleRefused(AccountError, FieldsRefused):
    """The role cannot be so; `fields` maps each field to what is wrong with it."""


class GrantUnknown(AccountError):
    """No grant has this id."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such grant."))


class GrantRefused(AccountError, FieldsRefused):
    """The grant cannot be given like this; `fields` maps each field to what is wrong with it."""


class SecondFactorRefused(AccountError):
    """The second factor does not go this way."""


class CodeWrong(SecondFactorRefused):
    """Neither a code of the person's app at this time, nor a recovery code of theirs."""

    def __init__(self) -> None:
        super().__init__(gettext("This code is not right. Codes of the app change every 30 seconds."))


class CodeUsed(SecondFactorRefused):
    """The code is right, and was taken before."""

    def __init__(self) -> None:
        super().__init__(gettext("This code has been used. Wait for the next one."))


class TooManyCodes(SecondFactorRefused):
    """Too many wrong codes were sent; not even a right one is taken now."""

    def __init__(self) -> None:
        super().__init__(gettext("There were too many wrong codes. Wait a few minutes, or ask an administrator."))


class SecondFactorSetUp(SecondFactorRefused):
    """There is an authenticator app already."""

    def __init__(self) -> None:
        super().__init__(gettext("An authenticator app is set up already. Turn it off first."))


class SecondFactorMissing(SecondFactorRefused):
    """There is nothing that recovery codes could stand in for."""

    def __init__(self) -> None:
        super().__init__(gettext("Set up an authenticator app or a passkey first."))


class PasskeyRefused(SecondFactorRefused):
    """What a browser sent is no answer of a passkey to what was asked of it."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or gettext("This passkey was not accepted. Try again."))


class PasskeyUnknown(SecondFactorRefused):
    """The person has no such passkey."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such passkey."))


class SessionUnknown(AccountError):
    """No session of the person has this id any more."""

    def __init__(self) -> None:
        super().__init__(gettext("This session has ended."))


class LinkDead(AccountError):
    """The link sets no password."""

    def __init__(self) -> None:
        super().__init__(
            gettext("This link was used, is older than a day, or its account has changed. Ask for a new one.")
        )


class ProviderUnknown(AccountError):
    """No provider has this id."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such provider."))


class ProviderRefused(AccountError, FieldsRefused):
    """The provider cannot be like this; `fields` maps each field to what is wrong with it."""


class SignInRefused(AccountError):
    """The person from the provider is not signed in. `reason` is one word, for the audit log."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class DirectoryUnknown(AccountError):
    """No directory has this id."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such directory."))


class DirectoryRefused(AccountError, FieldsRefused):
    """The directory cannot be like this; `fields` maps each field to what is wrong with it."""


class DirectoryFull(AccountError):
    """There are as many as there may be."""

    def __init__(self, most: int, what: str) -> None:
        super().__init__(gettext("At most {most:,} {what}.").format(most=most, what=what))


class GroupUnknown(AccountError):
    """The directory has no group with this id."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such group."))


class Taken(AccountError):
    """Another person has the name or the address, or another group the name."""


class OutOfReach(AccountError):
    """A directory would change an administrator whose role its own rules did not give."""

    def __init__(self, username: str) -> None:
        super().__init__(
            gettext(
                "{username} is an administrator by another’s hand. Administrators change that account here."
            ).format(username=username)
        )


class AddressKept(OutOfReach):
    """A directory would change the address of an account with a password, a role or rights that are not its gift."""

    def __init__(self, username: str) -> None:
        AccountError.__init__(
            self,
            gettext(
                "{username} has a password, a role or rights of their own: the directory doesn’t change the mail "
                "address, by which the account can be opened."
            ).format(username=username),
        )


class NotYours(AccountError):
    """The token belongs to another person."""

    def __init__(self) -> None:
        super().__init__(gettext("This token belongs to somebody else."))


class AboveYou(AccountError):
    """A token with fewer rights than its owner would change the owner, or a person whose role is at or above the
    owner's.
    """

    def __init__(self, username: str) -> None:
        super().__init__(
            gettext("This token may not change {username}: only somebody below its owner.").format(username=username)
        )


class OpensMore(AboveYou):
    """A token would decide who signs in to an account, or whose it is, and can't do everything that the account can."""

    def __init__(self, username: str) -> None:
        message = gettext("This token must be able to do everything that {username} can, to do this.")
        AccountError.__init__(self, message.format(username=username))


class TokenRefused(AccountError, FieldsRefused):
    """The token cannot be made like this; `fields` maps each field to what is wrong with it."""


class TsigNameTaken(TokenRefused):
    """A TSIG key of this name exists."""

    def __init__(self, name: str) -> None:
        super().__init__({"name": [gettext("There is a TSIG key {name} already.").format(name=name)]})


class TokenQuotaExceeded(TokenRefused):
    """The owner, or a team of theirs, has as many tokens as they may have."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            {"token": [gettext("{reason} Tokens that are not used any more can be revoked.").format(reason=reason)]}
        )


class RotationRefused(AccountError):
    """The master key cannot be rotated now, or not to this key."""


class BadToken(AccountError):
    """The token opens nothing."""


class TokenUnknown(BadToken):
    """No token has this secret or id."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such token."))


class TokenDead(BadToken):
    """The token was good once."""


class TokenElsewhere(BadToken):
    """The token is used from an address outside of its networks."""

    def __init__(self) -> None:
        super().__init__(gettext("This token may not be used from this address."))
