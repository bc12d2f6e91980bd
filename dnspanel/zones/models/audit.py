"""Tables for the audit log's chain."""

from typing import Any

from django.db import models

from dnspanel.text_fields import MessagesField


class AuditLink(models.Model):
    """An action's place in the audit log's chain, with the action's digest and the chain's hash. Links never change."""

    number = models.BigIntegerField(primary_key=True)  # from 1, without gaps
    kind = models.CharField(max_length=11)  # audit_chain.ENTRY or PUBLICATION
    ref = models.BigIntegerField()  # the entry's id, or the sequence
    content = models.BinaryField()
    parts: "models.JSONField[Any]" = models.JSONField(default=dict)  # see audit_contents
    chain = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "ref"], name="audit_link_once")]

    @property
    def hash(self) -> str:
        """The chain's hash as hexadecimal text."""
        return bytes(self.chain).hex()


class AuditChain(models.Model):
    """The single row with the chain's progress and the result of its last check."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    sequence = models.BigIntegerField(default=0)  # publications up to here are linked
    # Audit entries up to this id are linked, or never will be (see audit_links).
    floor = models.BigIntegerField(default=0)
    next_floor = models.BigIntegerField(default=0)
    next_floor_after = models.BigIntegerField(null=True)  # once every transaction before this one has ended
    asked_at = models.DateTimeField(null=True)  # set while a requested check has not run yet
    checked_at = models.DateTimeField(null=True)
    checked_to = models.BigIntegerField(default=0)
    faults: "models.JSONField[Any]" = MessagesField(default=list)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="audit_chain_single")]
