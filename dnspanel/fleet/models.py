"""Nodes, their enrolment, what they acknowledged, and the panel's own certificate authority."""

from typing import Any

from django.db import models


class NodeState(models.TextChoices):
    """Where a node stands in its life; how it is doing just now is worked out in `fleet.health`."""

    AWAITING_APPROVAL = "awaiting", "waiting for approval"
    ACTIVE = "active", "active"
    DRAINED = "drained", "drained"
    RETIRED = "retired", "retired"


class Node(models.Model):
    """One authoritative name server with its agent."""

    name = models.SlugField(max_length=63, unique=True)
    state = models.CharField(max_length=16, choices=NodeState, default=NodeState.AWAITING_APPROVAL)
    dns_address = models.GenericIPAddressField()
    dns_port = models.IntegerField(default=53)
    agent_host = models.CharField(max_length=253)
    agent_port = models.IntegerField()
    schema = models.SmallIntegerField(default=4)
    created_at = models.DateTimeField()
    # Proof: the newest position the node answered over DNS.
    epoch = models.UUIDField(null=True)
    acked = models.BigIntegerField(default=0)
    acked_at = models.DateTimeField(null=True)
    digest = models.BinaryField(null=True)
    contact_at = models.DateTimeField(null=True)
    # The last refusal in words; empty when the node is well.
    refusal = models.TextField(blank=True, default="")
    refused_at = models.DateTimeField(null=True)
    versions: "models.JSONField[Any]" = models.JSONField(default=dict)  # agent, powerdns, lmdb
    certificate_pem = models.TextField(blank=True, default="")
    certificate_sha256 = models.CharField(max_length=64, blank=True, default="")
    certificate_expires_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class EnrolmentCode(models.Model):
    """A one-time code with which an agent may ask to become this node; only its SHA-256 is stored."""

    secret_sha256 = models.BinaryField(unique=True)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="codes")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # The signing request that used the code; the same request may ask again until it is approved.
    csr_pem = models.TextField(blank=True, default="")
    csr_sha256 = models.CharField(max_length=64, blank=True, default="")


class Ack(models.Model):
    """When a node first proved a position: history for "on 3 of 3 nodes after 41 ms"."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="acks")
    epoch = models.UUIDField()
    sequence = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "epoch", "sequence"], name="ack_unique")]


class Authority(models.Model):
    """The panel's certificate authority and its own client certificate; private keys are encrypted."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    ca_pem = models.TextField()
    ca_key_encrypted = models.BinaryField()
    client_pem = models.TextField()
    client_key_encrypted = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="authority_single")]
