"""Tables for accounts, from users and sign-in to tokens and the audit log. See `grants` and `actors` for rights."""

from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower

from dnspanel.accounts.secret_places import SecretField
from dnspanel.accounts.texts.browser_names import browser_name
from dnspanel.accounts.texts.canonical import LONGEST_KEY, canonical_mail, canonical_username
from dnspanel.text_fields import EnglishField, MessageField
from dnspanel.texts import gettext, gettext_lazy


class Role(models.TextChoices):
    """A built-in role. Each role includes the rights of lower roles. Teams and grants can add further rights."""

    ADMINISTRATOR = "administrator", gettext_lazy("Administrator")  # everything, including people and nodes
    EDITOR = "editor", gettext_lazy("Editor")  # edits and publishes every zone
    READER = "reader", gettext_lazy("Reader")  # sees everything, changes nothing
    MEMBER = "member", gettext_lazy("Member")  # only what teams and grants give


class OwnRole(models.Model):
    """A custom role: permissions, and rights over all zones. Changed only through `own_roles`."""

    name = models.CharField(max_length=40)
    permissions = ArrayField(models.CharField(max_length=64), default=list)  # sorted `roles.Permission`
    rights = ArrayField(models.CharField(max_length=16), default=list)  # sorted `grants.Right`
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="own_role_name_unique")]

    def __str__(self) -> str:
        return self.name


# The start of the password column of people who sign in with LDAP. Django treats it as an unusable password.
BY_LDAP = f"{UNUSABLE_PASSWORD_PREFIX}ldap:"


class User(AbstractUser):
    """A human user or a service account. A service account can't sign in and has no email address."""

    email = models.EmailField(unique=True, null=True)  # type: ignore[assignment]  # noqa: DJ001  (null keeps it unique)
    # Accounts are only found by these keys (`find_people`). None: there is no canonical spelling, or another account
    # has it (see `account_keys`). Then the account is found by its exact name or address.
    name_key = models.CharField(max_length=LONGEST_KEY, unique=True, null=True, blank=True, editable=False)
    mail_key = models.CharField(max_length=LONGEST_KEY, unique=True, null=True, blank=True, editable=False)
    is_service = models.BooleanField(default=False, db_default=False)
    # Another account of the same person, or the person of a service account. Neither can approve the other's requests.
    # The other account has no such link (`same_person` sets it).
    same_person_as = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="other_accounts"
    )
    role = models.CharField(max_length=16, choices=Role, default=Role.READER)
    own_role = models.ForeignKey(OwnRole, null=True, blank=True, on_delete=models.PROTECT, related_name="people")
    # The number of times that all sessions were ended. Earlier sessions stay invalid, even if the account is reopened.
    sessions_ended = models.IntegerField(default=0)
    # The name of the time zone on this person's pages (`own_time_zone`).
    time_zone = models.CharField(max_length=64, default="UTC", db_default="UTC")
    # The code of the language on this person's pages (`own_language`). Empty: the browser's language.
    language = models.CharField(max_length=8, default="", db_default="", blank=True)
    # Quotas that replace the settings' quotas: {`quota_amounts.Kind`: amount, or null for unlimited}.
    quotas: "models.JSONField[Any]" = models.JSONField(default=dict, db_default={}, blank=True)
    # {list: {"hidden": [column], "dense": bool}}, by `list_looks`
    list_looks: "models.JSONField[Any]" = models.JSONField(default=dict, db_default={}, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="user_role_known"),
            models.CheckConstraint(
                condition=models.Q(own_role=None) | models.Q(role=Role.MEMBER), name="user_own_role_of_member"
            ),
            models.CheckConstraint(
                condition=models.Q(email__isnull=False, is_service=False) | models.Q(email=None, is_service=True),
                name="user_service_has_no_mail",
            ),
        ]

    def clean(self) -> None:
        """Raise ValidationError if the user name or the address has no canonical spelling."""
        super().clean()
        faults = {}
        if canonical_username(self.username) is None:
            faults["username"] = [
                gettext("A user name can’t contain letters that look like other letters. Use plain letters.")
            ]
        if self.email and canonical_mail(self.email) is None:
            faults["email"] = [
                gettext("Enter an email address with only ASCII letters before the @ and a valid domain.")
            ]
        if faults:
            raise ValidationError(faults)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the account with its canonical spellings. A spelling that an existing account lacks stays empty."""
        # An account without a key stays without it, because another account has the spelling.
        if self._state.adding or self.name_key is not None:
            self.name_key = canonical_username(self.username)
        if self._state.adding or self.mail_key is not None:
            self.mail_key = canonical_mail(self.email) if self.email else None
        if (fields := kwargs.get("update_fields")) is not None:
            keys = {"username": "name_key", "email": "mail_key"}
            kwargs["update_fields"] = {*fields, *(keys[name] for name in fields if name in keys)}
        super().save(*args, **kwargs)

    @property
    def signs_in_by_ldap(self) -> bool:
        """True if an LDAP server checks the user's password. The panel then doesn't store a password for the user."""
        return self.password.startswith(BY_LDAP)

    @property
    def has_password(self) -> bool:
        """True if the user signs in with a password that the panel stores or an LDAP server checks."""
        return self.signs_in_by_ldap or self.has_usable_password()

    @property
    def human_id(self) -> int:
        """An id that is the same for all accounts of one human being."""
        return self.same_person_as_id or self.pk

    @property
    def role_name(self) -> str:
        """The role's name on pages. Reading it for a custom role needs one query."""
        return self.own_role.name if self.own_role is not None else Role(self.role).label

    @property
    def role_key(self) -> str:
        """The role's name in forms: a `Role` value, or "own:" and the id of a custom role."""
        return self.role if self.own_role_id is None else f"own:{self.own_role_id}"

    def get_session_auth_hash(self) -> str:
        return self._with_sessions(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return map(self._with_sessions, super().get_session_auth_fallback_hash())

    def _with_sessions(self, hashed: str) -> str:
        return f"{hashed}.{self.sessions_ended}" if self.sessions_ended else hashed


class Session(AbstractBaseSession):
    """A browser session: Django's session, plus columns that `session_store` fills from the session data."""

    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")  # null: before the sign-in
    began_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    address = models.GenericIPAddressField(null=True)
    browser = models.CharField(max_length=200, blank=True)  # the User-Agent header
    # The hash of its session at the provider (`oidc.logout.session_key`). Empty: no provider, or no session id.
    at_provider = models.CharField(max_length=64, blank=True, default="", db_default="")

    class Meta(AbstractBaseSession.Meta):
        abstract = False
        indexes = [
            models.Index(fields=["at_provider"], name="session_at_provider", condition=~models.Q(at_provider="")),
        ]

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore  # which uses this model
        return store

    @property
    def public_id(self) -> str:
        """The session's id on pages. `session_key` must never be shown, because it gives access to the session."""
        return sha256(f"session:{self.session_key}".encode()).hexdigest()[:32]

    @property
    def browser_name(self) -> str:
        return browser_name(self.browser)


class Invitation(models.Model):
    """A one-time link for creating one account. Only the SHA-256 hash of its secret is stored."""

    secret_sha256 = models.BinaryField(unique=True)
    role = models.CharField(max_length=16, choices=Role)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")


class Team(models.Model):
    """A group of users who manage the same zones. A zone belongs to at most one team."""

    name = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    quotas: "models.JSONField[Any]" = models.JSONField(default=dict, db_default={}, blank=True)  # like `User.quotas
    # The directory that created the team for a group. Only this directory can rename the team.
    made_by_directory = models.ForeignKey(
        "ScimDirectory", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="team_name_unique")]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's membership in a team, as a reader or an editor of the team's zones."""

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
    """A grant to one user, or to every member of one team. `grant` is a dict from `grants.Grant.to_json`."""

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


class SecondFactorRule(models.Model):
    """A rule that users with a role, or in a team, must set up a second factor within a number of days."""

    role = models.CharField(max_length=24, null=True, unique=True)  # noqa: DJ001  (a `role_key`; null keeps it unique)
    team = models.OneToOneField(Team, null=True, on_delete=models.CASCADE, related_name="+")
    since = models.DateTimeField()
    grace_days = models.SmallIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role=None, team__isnull=False) | models.Q(role__isnull=False, team=None),
                name="second_factor_rule_of_one",
            )
        ]


class TokenKind(models.TextChoices):
    """The kind of a token. It determines how a program proves that it has the token's secret."""

    API = "api", gettext_lazy("API token")  # a secret of 256 bits; only its SHA-256 is stored
    TSIG = "tsig", gettext_lazy("TSIG key")  # signs DNS messages (RFC 8945), so the key itself is stored, encrypted
    SCIM = (
        "scim",
        gettext_lazy("SCIM token"),
    )  # for a directory that manages people; like an API token, but without access to the APIs
    FEED = "feed", gettext_lazy("Calendar feed")  # its secret is in a URL, so it only opens the calendar feed


class Token(models.Model):
    """A program's credential, with a subset of its owner's rights. It isn't deleted, because history refers to it."""

    kind = models.CharField(max_length=4, choices=TokenKind)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    purpose = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, blank=True)  # the visible beginning of an API token
    secret_sha256 = models.BinaryField(null=True, unique=True)
    tsig_name = models.TextField(null=True, unique=True)  # noqa: DJ001  (null keeps it unique)
    tsig_algorithm = models.CharField(max_length=32, blank=True)
    tsig_secret = SecretField(null=True)  # `vault.encrypt_secret`
    scope: "models.JSONField[Any]" = models.JSONField(default=list)  # list of `grants.Grant.to_json`
    # A TSIG key created through PowerDNS's API: zones must also list the key (`zones.rights.tsig_permissions`).
    needs_permission = models.BooleanField(default=False)
    permissions = ArrayField(models.CharField(max_length=64), default=list)  # `roles.Permission` other than for zones
    networks = ArrayField(models.CharField(max_length=49), default=list)  # CIDR; empty: any address
    needs_if_match = models.BooleanField(default=False)
    # Can delete any number of zones at once: API v1 clients can't confirm, and some delete everything they created.
    deletes_many = models.BooleanField(default=False, db_default=False)
    requests_per_minute = models.IntegerField(null=True)  # null: the setting
    # The first token with its own limit among the tokens that created or preceded this one, and that limit. Requests
    # also count against it, so that making or rotating tokens cannot multiply a limit.
    allowance_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    allowance = models.IntegerField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)  # null: never
    unused_days = models.IntegerField(null=True)  # the token becomes invalid after this many days without use
    last_used_at = models.DateTimeField(null=True)
    last_address = models.GenericIPAddressField(null=True)
    revoked_at = models.DateTimeField(null=True)
    # The token that created this one. Revoking it also revokes this one, which a thief could have created.
    made_with = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="made")
    # The token that replaces this one. This one expires soon.
    rotated_to = models.OneToOneField("self", null=True, on_delete=models.SET_NULL, related_name="rotated_from")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=["api", "scim", "feed"], secret_sha256__isnull=False, tsig_name=None)
                | models.Q(kind="tsig", secret_sha256=None, tsig_name__isnull=False, tsig_secret__isnull=False),
                name="token_has_its_secret",
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-id"], name="token_of_owner"),
            models.Index(
                fields=["expires_at"],
                condition=models.Q(expires_at__isnull=False, revoked_at=None),
                name="token_ends",
            ),
        ]


class ProviderKind(models.TextChoices):
    """The protocol of a sign-in provider."""

    OIDC = "oidc", "OpenID Connect"
    SAML = "saml", "SAML 2.0"
    LDAP = "ldap", "LDAP"


class SignInProvider(models.Model):
    """An external sign-in provider. Its kind can't be changed, and its issuer can be changed only for LDAP."""

    kind = models.CharField(max_length=4, choices=ProviderKind, default=ProviderKind.OIDC)
    slug = models.SlugField(max_length=40, unique=True)  # in the URLs that are configured at the provider
    name = models.CharField(max_length=40)  # on the button
    issuer = models.TextField()  # SAML: its entity ID. LDAP: its URI, which can change
    client_id = models.CharField(max_length=255)  # SAML: the panel's entity ID. LDAP: the bind DN
    client_secret = SecretField(default=bytes)  # `vault.encrypt_secret`; SAML has none
    scopes = models.CharField(max_length=300, default="")  # only for OpenID Connect
    metadata = models.TextField(default="")  # SAML: XML with the signing keys. LDAP: the CA in PEM
    metadata_url = models.TextField(default="")  # the URL to fetch metadata again; empty: pasted
    metadata_at = models.DateTimeField(null=True)  # time of the last fetch
    # SAML: names of a person's attributes (`saml.saml_providers.ATTRIBUTES`). LDAP: `ldap.ldap_terms`.
    attributes: "models.JSONField[Any]" = models.JSONField(default=dict)
    group_claim = models.CharField(max_length=250)
    rules: "models.JSONField[Any]" = models.JSONField(
        default=list
    )  # list of `providers.provider_identity.Rule.to_json`
    makes_people = models.BooleanField(default=False)  # create an account at a person's first sign-in
    mail_domains = ArrayField(models.CharField(max_length=253), default=list)  # for first sign-ins; empty: any
    links_by_mail = models.BooleanField(default=False)  # a verified address links the account with that address
    trusts_mail = models.BooleanField(default=False)  # for providers that verify addresses but don't say so
    session_hours = models.IntegerField()
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    # LDAP: the start of the last check of its people, and the reason why it failed. Empty: it worked.
    looked_at = models.DateTimeField(null=True)
    look_fault = MessageField(default="", db_default="")

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(session_hours__gt=0), name="oidc_session_has_length")]

    def __str__(self) -> str:
        return self.name


class ProviderLink(models.Model):
    """A link between an account and a provider's user. `given` has the roles from before the rules were applied."""

    provider = models.ForeignKey(SignInProvider, on_delete=models.CASCADE, related_name="links")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="provider_links")
    subject = models.CharField(max_length=255)  # unique only within its provider
    # {"role": the role before the rules, "teams": {id: role before the rules, or null for none}}
    given: "models.JSONField[Any]" = models.JSONField(default=dict)
    linked_at = models.DateTimeField()
    signed_in_at = models.DateTimeField(null=True)
    # LDAP: the time of the person's last check, and the time when the person was first found missing or disabled.
    looked_at = models.DateTimeField(null=True)
    absent_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "subject"], name="oidc_subject_unique"),
            models.UniqueConstraint(fields=["provider", "user"], name="oidc_person_unique"),
        ]


class ScimDirectory(models.Model):
    """An external directory that manages users and groups over SCIM 2.0, with a token of a service account."""

    name = models.CharField(max_length=40)
    account = models.OneToOneField(User, on_delete=models.PROTECT, related_name="scim_directory")  # a service account
    rules: "models.JSONField[Any]" = models.JSONField(
        default=list
    )  # list of `providers.provider_identity.Rule.to_json`
    # The role of a group's members in the team of the same name, for groups without a rule. Empty: none.
    team_role = models.CharField(max_length=16, blank=True, choices=[("editor", "Editor"), ("reader", "Reader")])
    # Ids of existing teams that groups of the same name can use. An administrator selects them.
    teams = ArrayField(models.IntegerField(), default=list, db_default=[], blank=True)
    takes_over = models.BooleanField(default=False)  # existing accounts, except administrators'
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="scim_directory_name_unique")]

    def __str__(self) -> str:
        return self.name


class ScimPerson(models.Model):
    """A user managed by a directory. Only one directory can manage a user, because two could conflict."""

    directory = models.ForeignKey(ScimDirectory, on_delete=models.CASCADE, related_name="people")
    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="scim_person")
    external_id = models.CharField(max_length=255, blank=True)
    display_name = models.CharField(max_length=255, blank=True)
    given: "models.JSONField[Any]" = models.JSONField(default=dict)  # as `ProviderLink.given`
    changed_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)  # deleted in the directory; history still shows the name

    class Meta:
        indexes = [models.Index(fields=["directory", "external_id"], name="scim_person_external")]


class ScimGroup(models.Model):
    """A directory's group. `team` is the team that its members join, if the directory's groups become teams."""

    directory = models.ForeignKey(ScimDirectory, on_delete=models.CASCADE, related_name="groups")
    name = models.CharField(max_length=300)
    external_id = models.CharField(max_length=255, blank=True)
    team = models.ForeignKey(Team, null=True, on_delete=models.SET_NULL, related_name="+")
    people = models.ManyToManyField(ScimPerson, related_name="groups")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["directory", "name"], name="scim_group_name_unique")]


class SeenAssertion(models.Model):
    """An accepted SAML assertion, stored so that it can't be used again."""

    provider = models.ForeignKey(SignInProvider, on_delete=models.CASCADE, related_name="+")
    digest = models.BinaryField(max_length=32)  # SHA-256 of its ID
    ends_at = models.DateTimeField(db_index=True)  # the assertion is too old after this time, so the row can be deleted
    # {"question", "claims"}, deleted when the browser returns with its session
    said: "models.JSONField[Any]" = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "digest"], name="assertion_seen_once")]


class AuditEntry(models.Model):
    """One recorded action other than a publication, such as a sign-in or a change to a token. Entries never change."""

    at = models.DateTimeField()
    user = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey(Token, null=True, on_delete=models.SET_NULL, related_name="+")
    address = models.GenericIPAddressField(null=True)
    action = models.CharField(max_length=40)  # "token.create", "sign-in.failed", ...
    target = models.TextField(blank=True)  # the object of the action, as text
    details: "models.JSONField[Any]" = EnglishField(default=dict)  # never a secret
    request_id = models.CharField(max_length=36, blank=True)
    session = models.CharField(max_length=32, blank=True, default="", db_default="")  # `Session.public_id`

    class Meta:
        indexes = [models.Index(fields=["action", "-id"], name="audit_by_action")]


class MasterKey(models.Model):
    """The fingerprint of the key that encrypts this database's secrets. The table has one row; see `database_key`."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    fingerprint = models.CharField(max_length=16)  # `master_keys.fingerprint`
    former = models.CharField(max_length=16, blank=True)  # the fingerprint of the key that a rotation is replacing
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="master_key_once")]
