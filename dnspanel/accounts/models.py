"""People, teams, grants and tokens: who acts, and what they were given. `grants` and `actors` say what it means."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower


class Role(models.TextChoices):
    """What a person may do at least; each role includes the ones below it, teams and grants add to it."""

    ADMINISTRATOR = "administrator", "Administrator"  # everything, people and nodes included
    EDITOR = "editor", "Editor"  # edits and publishes every zone
    READER = "reader", "Reader"  # sees everything, changes nothing
    MEMBER = "member", "Member"  # only what teams and grants give


class User(AbstractUser):
    """A person who signs in."""

    email = models.EmailField(unique=True)
    role = models.CharField(max_length=16, choices=Role, default=Role.READER)
    # How often all sessions were ended: a session of before is none, also once the account is open again.
    sessions_ended = models.IntegerField(default=0)
    # What was given in place of the settings' quotas: {`quota_amounts.Kind`: amount, or null for any}.
    quotas: "models.JSONField[Any]" = models.JSONField(default=dict, db_default={}, blank=True)
    # {list: {"hidden": [column], "dense": bool}}, by `list_looks`
    list_looks: "models.JSONField[Any]" = models.JSONField(default=dict, db_default={}, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="user_role_known"),
            # People sign in without minding upper and lower case, so two names may not differ by it alone.
            models.UniqueConstraint(Lower("username"), name="user_name_unique"),
        ]

    def get_session_auth_hash(self) -> str:
        return self._with_sessions(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return map(self._with_sessions, super().get_session_auth_fallback_hash())

    def _with_sessions(self, hashed: str) -> str:
        return f"{hashed}.{self.sessions_ended}" if self.sessions_ended else hashed


class Invitation(models.Model):
    """A one-time link that makes one account; only the SHA-256 of its secret is stored."""

    secret_sha256 = models.BinaryField(unique=True)
    role = models.CharField(max_length=16, choices=Role)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")


class Team(models.Model):
    """People who look after the same zones; a zone belongs to one team or to none."""

    name = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    quotas: "models.JSONField[Any]" = models.JSONField(default=dict, db_default={}, blank=True)  # as a person's

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="team_name_unique")]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """What a person is in a team: a reader or an editor of its zones."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=[("editor", "Editor"), ("reader", "Reader")])

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="membership_unique"),
            models.CheckConstraint(
                condition=models.Q(role__in=[Role.EDITOR, Role.READER]), name="membership_role_known"
            ),
        ]


class GrantRow(models.Model):
    """What one person, or every member of one team, may do besides; `grant` is `grants.Grant.to_json`."""

    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="grants")
    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="grants")
    grant: "models.JSONField[Any]" = models.JSONField()
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(user=None, team__isnull=False) | models.Q(user__isnull=False, team=None),
                name="grant_to_one",
            )
        ]


class TokenKind(models.TextChoices):
    """How a token proves itself."""

    API = "api", "API token"  # a secret of 256 bits, of which only the SHA-256 is stored
    TSIG = "tsig", "TSIG key"  # signs DNS messages (RFC 8945), so the key itself is stored, encrypted


class Token(models.Model):
    """A credential of a program: what it lets through of what its owner may do.

    A revoked or expired one is kept, because history names it.
    """

    kind = models.CharField(max_length=4, choices=TokenKind)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    purpose = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, blank=True)  # the visible beginning of an API token
    secret_sha256 = models.BinaryField(null=True, unique=True)
    tsig_name = models.TextField(null=True, unique=True)  # noqa: DJ001  (null keeps it unique)
    tsig_algorithm = models.CharField(max_length=32, blank=True)
    tsig_secret = models.BinaryField(null=True)  # `vault.encrypt_secret`
    scope: "models.JSONField[Any]" = models.JSONField(default=list)  # list of `grants.Grant.to_json`
    # A TSIG key made over PowerDNS's API: besides the scope, a zone has to name it (`zones.tsig_permissions`).
    needs_permission = models.BooleanField(default=False)
    permissions = ArrayField(models.CharField(max_length=64), default=list)  # `roles.Permission` besides zones
    networks = ArrayField(models.CharField(max_length=49), default=list)  # CIDR; empty: from anywhere
    needs_if_match = models.BooleanField(default=False)
    # Deletes any number of zones at once: clients of API v1 cannot confirm, and some delete all that they made.
    deletes_many = models.BooleanField(default=False, db_default=False)
    requests_per_minute = models.IntegerField(null=True)  # null: the setting's
    # The first token with a limit of its own that made this one, or that it was before it was rotated, and that limit:
    # requests count against both, so that a limit cannot be multiplied by making or rotating tokens.
    allowance_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    allowance = models.IntegerField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)  # null: never
    unused_days = models.IntegerField(null=True)  # dies when not used for so long
    last_used_at = models.DateTimeField(null=True)
    last_address = models.GenericIPAddressField(null=True)
    revoked_at = models.DateTimeField(null=True)
    # The token that made it, whose revocation is its own: who found that one could have made this one.
    made_with = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="made")
    # The token that takes over from this one; this one expires soon.
    rotated_to = models.OneToOneField("self", null=True, on_delete=models.SET_NULL, related_name="rotated_from")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind="api", secret_sha256__isnull=False, tsig_name=None)
                | models.Q(kind="tsig", secret_sha256=None, tsig_name__isnull=False, tsig_secret__isnull=False),
                name="token_has_its_secret",
            ),
        ]
        indexes = [models.Index(fields=["owner", "-id"], name="token_of_owner")]


class AuditEntry(models.Model):
    """One act that is not a publication: sign-ins, tokens, people, teams, nodes, webhooks. Never changed."""

    at = models.DateTimeField()
    user = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey(Token, null=True, on_delete=models.SET_NULL, related_name="+")
    address = models.GenericIPAddressField(null=True)
    action = models.CharField(max_length=40)  # "token.create", "sign-in.failed", ...
    target = models.TextField(blank=True)  # what it was done to, in words
    details: "models.JSONField[Any]" = models.JSONField(default=dict)  # never a secret
    request_id = models.CharField(max_length=36, blank=True)

    class Meta:
        indexes = [models.Index(fields=["action", "-id"], name="audit_by_action")]
