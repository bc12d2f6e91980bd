"""People: who they are and what role they have."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower


class Role(models.TextChoices):
    """What a person may do; each role includes the ones below it."""

    ADMINISTRATOR = "administrator", "Administrator"  # everything, people and nodes included
    EDITOR = "editor", "Editor"  # edits and publishes every zone
    READER = "reader", "Reader"  # sees everything, changes nothing


class User(AbstractUser):
    """A person who signs in."""

    email = models.EmailField(unique=True)
    role = models.CharField(max_length=16, choices=Role, default=Role.READER)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="user_role_known"),
            # People sign in without minding upper and lower case, so two names may not differ by it alone.
            models.UniqueConstraint(Lower("username"), name="user_name_unique"),
        ]


class Invitation(models.Model):
    """A one-time link that makes one account; only the SHA-256 of its secret is stored."""

    secret_sha256 = models.BinaryField(unique=True)
    role = models.CharField(max_length=16, choices=Role)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
