"""People: who they are and what role they have."""

from django.contrib.auth.models import AbstractUser
from django.db import models


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
