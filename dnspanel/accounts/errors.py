"""What may go wrong with people, as one tree.

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
├── GrantUnknown
├── GrantRefused          a field of the grant is not acceptable, or it gives more than its giver has
├── NotYours              a token of somebody else
├── AboveYou              a token would change its owner, or somebody at or above them
├── TokenRefused          a field of the new token is not acceptable
│   ├── TsigNameTaken
│   └── TokenQuotaExceeded the owner, or a team of theirs, has as many tokens as they may
└── BadToken              a token that opens nothing; never said why to who asks with it
    ├── TokenUnknown
    ├── TokenDead         revoked, expired, unused for too long, or its owner's account is closed
    └── TokenElsewhere    used from outside of its networks
"""

from datetime import datetime


class AccountError(Exception):
    """Something about an account that a person can read and mend."""


class BadInvitation(AccountError):
    """The link makes no account."""


class InvitationUnknown(BadInvitation):
    """No invitation has this secret."""

    def __init__(self) -> None:
        super().__init__("This link is not an invitation. Copy the whole link, or ask for a new one.")


class InvitationUsed(BadInvitation):
    """The invitation has made its one account."""

    def __init__(self) -> None:
        super().__init__("This invitation has been used. Sign in, or ask for a new one.")


class InvitationExpired(BadInvitation):
    """The invitation is too old."""

    def __init__(self, expired_at: datetime) -> None:
        self.expired_at = expired_at
        super().__init__(f"This invitation expired on {expired_at:%Y-%m-%d at %H:%M} UTC. Ask for a new one.")


class AccountRefused(AccountError):
    """The account cannot be made like this; `fields` maps each field to what is wrong with it."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self.fields = fields
        super().__init__(" ".join(message for messages in fields.values() for message in messages))


class PersonUnknown(AccountError):
    """No person has this id."""

    def __init__(self) -> None:
        super().__init__("There is no such person.")


class LastAdministrator(AccountError):
    """Without this person nobody could administer the panel."""

    def __init__(self, username: str) -> None:
        self.username = username
        super().__init__(f"{username} is the last administrator. Make somebody else administrator first.")


class TeamUnknown(AccountError):
    """No team has this id."""

    def __init__(self) -> None:
        super().__init__("There is no such team.")


class TeamRefused(AccountError):
    """The team cannot be like this; `fields` maps each field to what is wrong with it."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self.fields = fields
        super().__init__(" ".join(message for messages in fields.values() for message in messages))


class TeamNameTaken(TeamRefused):
    """A team of this name exists."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__({"name": [f"There is a team {name} already."]})


class GrantUnknown(AccountError):
    """No grant has this id."""

    def __init__(self) -> None:
        super().__init__("There is no such grant.")


class GrantRefused(AccountError):
    """The grant cannot be given like this; `fields` maps each field to what is wrong with it."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self.fields = fields
        super().__init__(" ".join(message for messages in fields.values() for message in messages))


class NotYours(AccountError):
    """The token belongs to somebody else."""

    def __init__(self) -> None:
        super().__init__("This token belongs to somebody else.")


class AboveYou(AccountError):
    """A token that may less than its owner would change the owner, or somebody whose role is at or above theirs."""

    def __init__(self, username: str) -> None:
        super().__init__(f"This token may not change {username}: only somebody below its owner.")


class TokenRefused(AccountError):
    """The token cannot be made like this; `fields` maps each field to what is wrong with it."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self.fields = fields
        super().__init__(" ".join(message for messages in fields.values() for message in messages))


class TsigNameTaken(TokenRefused):
    """A TSIG key of this name exists."""

    def __init__(self, name: str) -> None:
        super().__init__({"name": [f"There is a TSIG key {name} already."]})


class TokenQuotaExceeded(TokenRefused):
    """The owner, or a team of theirs, has as many tokens as they may have."""

    def __init__(self, reason: str) -> None:
        super().__init__({"token": [f"{reason} Tokens that are not used any more can be revoked."]})


class BadToken(AccountError):
    """The token opens nothing."""


class TokenUnknown(BadToken):
    """No token has this secret or id."""

    def __init__(self) -> None:
        super().__init__("There is no such token.")


class TokenDead(BadToken):
    """The token was good once."""


class TokenElsewhere(BadToken):
    """The token is used from an address outside of its networks."""

    def __init__(self) -> None:
        super().__init__("This token may not be used from this address.")
