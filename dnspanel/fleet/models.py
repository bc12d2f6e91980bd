"""Models for the fleet: nodes, fronts, groups, deliveries, checks, and the panel's own processes."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField, MessagesField
from dnspanel.texts import gettext_lazy as _


class NodeState(models.TextChoices):
    """A node's state in its lifecycle. The node's current health is computed in `fleet.node_health`."""

    AWAITING_APPROVAL = "awaiting", _("waiting for approval")
    ACTIVE = "active", _("active")
    DRAINED = "drained", _("drained")
    RETIRED = "retired", _("retired")


class NodeGroup(models.Model):
    """Nodes that receive publications together. In `order`, each group waits until the previous one is verified."""

    name = models.SlugField(max_length=63, unique=True)
    order = models.PositiveSmallIntegerField(unique=True)
    # How long the group's nodes must answer correctly with a publication before the next group gets it.
    verify_seconds = models.PositiveIntegerField(default=0)
    # The resolver that the group's nodes use for ALIAS; empty: the fleet's.
    resolver = models.CharField(max_length=64, blank=True, default="", db_default="")
    # Why a person lets the next group continue while no node of this group is live; empty in normal operation.
    skipped_reason = MessageField(blank=True, default="", db_default="")
    skipped_at = models.DateTimeField(null=True)


class Delivery(models.Model):
    """The single row with restrictions on delivery: the fleet's pin, and the reason if delivery is stopped."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    # No node gets anything beyond this sequence while it is set.
    pinned = models.BigIntegerField(null=True)
    pinned_reason = models.TextField(blank=True, default="")
    pinned_at = models.DateTimeField(null=True)
    pinned_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    # A sentence with the reason why groups after `stopped_group` don't get publications. Empty in normal operation.
    stopped_reason = MessageField(blank=True, default="")
    stopped_at = models.DateTimeField(null=True)
    stopped_group = models.ForeignKey(NodeGroup, null=True, on_delete=models.SET_NULL, related_name="+")
    # True: no group gets anything, not even the first, because a person requested this.
    stopped_whole = models.BooleanField(default=False, db_default=False)
    # When a person resumed delivery. Answers from before that time do not stop it.
    resumed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="delivery_single")]


class Release(models.Model):
    """The sequence up to which one group is released in one epoch. A group that doesn't wait for others has no row.

    `group` is None for the nodes of a fleet without groups, which wait only for ring 0.
    """

    group = models.ForeignKey(NodeGroup, null=True, on_delete=models.CASCADE, related_name="releases")
    epoch = models.UUIDField()
    sequence = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["group", "epoch"], name="release_of_group", nulls_distinct=False)
        ]


class Isolation(models.Model):
    """A publication that ring 0 couldn't serve, and the publication that reverts it.

    Other nodes receive no publications from `failed` onwards until both are merged into one segment, at `merged_at`.
    """

    epoch = models.UUIDField()
    failed = models.BigIntegerField(unique=True)
    inverse = models.BigIntegerField()
    found_at = models.DateTimeField()
    merged_at = models.DateTimeField(null=True)


class Node(models.Model):
    """An authoritative name server with its agent, or a dnsdist in front of such servers (`is_front`)."""

    # Unique among the nodes in the fleet. Retired nodes keep their names for their history.
    name = models.SlugField(max_length=63)
    state = models.CharField(max_length=16, choices=NodeState, default=NodeState.AWAITING_APPROVAL)
    dns_address = models.GenericIPAddressField()
    dns_port = models.IntegerField(default=53)
    # The addresses where resolvers reach the node, canonical and sorted, for names of name servers; empty:
    # `dns_address`.
    public_addresses = ArrayField(models.TextField(), default=list, db_default=[])
    agent_host = models.CharField(max_length=253)
    agent_port = models.IntegerField()
    schema = models.SmallIntegerField(default=4)
    created_at = models.DateTimeField()
    # The newest position that the node confirmed over DNS.
    epoch = models.UUIDField(null=True)
    acked = models.BigIntegerField(default=0)
    acked_at = models.DateTimeField(null=True)
    digest = models.BinaryField(null=True)
    # The position of the node's files if that is newer, and its time: for the pace of imports, not a confirmation.
    applied = models.BigIntegerField(default=0, db_default=0)
    applied_at = models.DateTimeField(null=True)
    contact_at = models.DateTimeField(null=True)
    # Why the collector's last attempt to reach the agent failed; empty if it succeeded.
    contact_problem = MessageField(blank=True, default="")
    # The last refusal as a sentence; empty if the node is in order.
    refusal = MessageField(blank=True, default="")
    refused_at = models.DateTimeField(null=True)
    refused_since = models.DateTimeField(null=True)  # with this refusal
    versions: "models.JSONField[Any]" = models.JSONField(default=dict)  # agent, powerdns, lmdb, installed
    group = models.ForeignKey(NodeGroup, null=True, on_delete=models.PROTECT, related_name="nodes")  # None: the last
    tags = ArrayField(models.TextField(), default=list, db_default=[])  # sorted, lower case
    # A private pdns_server next to the publisher, which gets everything first and answers only the publisher's queries.
    is_ring0 = models.BooleanField(default=False, db_default=False)
    # A dnsdist in front of nodes. It has no zones. Publications make it drop old answers from its cache.
    is_front = models.BooleanField(default=False, db_default=False)
    # The reason, the start and the automatic end of the node's drain, and the user who drained the node.
    drain_reason = models.TextField(blank=True, default="", db_default="")
    drained_at = models.DateTimeField(null=True)
    drained_until = models.DateTimeField(null=True)
    drained_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    # The agent's last status (`protocol.Status` as JSON), and its time.
    report: "models.JSONField[Any]" = models.JSONField(default=dict, db_default={})
    reported_at = models.DateTimeField(null=True)
    # ALIAS and LUA records without a good answer of its PowerDNS (`protocol.Unanswered`).
    unanswered: "models.JSONField[Any]" = models.JSONField(default=list, db_default=[])
    # True if its digests equaled the panel's at the same position in the last comparison; None: not comparable yet.
    digest_equal = models.BooleanField(null=True)
    digest_compared_at = models.DateTimeField(null=True)
    # The machine that first presented this identity (a hash of its id). Others are refused until a person accepts one.
    machine = models.CharField(max_length=64, blank=True, default="", db_default="")
    machine_address = models.TextField(blank=True, default="", db_default="")
    # The other machine. While it is named here, neither of the two gets publications.
    other_machine = models.CharField(max_length=64, blank=True, default="", db_default="")
    other_machine_address = models.TextField(blank=True, default="", db_default="")
    other_machine_at = models.DateTimeField(null=True)
    # During a rotation both certificates are accepted.
    next_certificate_pem = models.TextField(blank=True, default="", db_default="")
    next_certificate_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")
    certificate_pem = models.TextField(blank=True, default="")
    certificate_sha256 = models.CharField(max_length=64, blank=True, default="")
    certificate_expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=~models.Q(state=NodeState.RETIRED), name="node_name_of_fleet"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def slug(self) -> str:
        """The node's name in URLs and commands. For a retired node, this is `<name>_<id>`.

        Names contain no underscores, so the two forms can't be confused.
        """
        return f"{self.name}_{self.pk}" if self.state == NodeState.RETIRED else self.name

    @property
    def pins(self) -> frozenset[str]:
        """The SHA-256 hashes of the certificates that the agent is allowed to present. Empty after revocation."""
        return frozenset(pin for pin in (self.certificate_sha256, self.next_certificate_sha256) if pin)


class Front(models.Model):
    """The settings of a front that people can change. `replication.wire.front_messages` limits the numbers."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, primary_key=True, related_name="front")
    minimum = models.IntegerField(default=1)
    most_behind = models.IntegerField(default=0)
    behind_seconds = models.FloatField(default=1.0)
    queries_per_second = models.IntegerField(default=0)
    cache_entries = models.IntegerField(default=0)
    # The digest of the settings that its agent has accepted, and the time.
    pushed = models.CharField(max_length=32, blank=True, default="")
    pushed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.node.name


class FrontBackend(models.Model):
    """A node behind a front, with its weight."""

    front = models.ForeignKey(Front, on_delete=models.CASCADE, related_name="backends", db_index=False)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="+")
    weight = models.IntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["front", "node"], name="front_backend_once")]

    def __str__(self) -> str:
        return f"{self.front_id} {self.node_id}"


class UnprovenZone(models.Model):
    """A zone whose signatures in a node's answers are missing or wrong for a reason other than a publication.

    Pushes to the node continue without proof that it serves this zone correctly.
    """

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="unproven")
    zone = models.ForeignKey("zones.Zone", on_delete=models.CASCADE, related_name="+")
    problem = MessageField()
    since = models.DateTimeField()
    looked_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("node", "zone"), name="fleet_one_unproven_a_node_and_zone"),)

    def __str__(self) -> str:
        return str(self.problem)


class EnrolmentCode(models.Model):
    """A one-time code that lets an agent enroll as this node. Only its SHA-256 is stored."""

    secret_sha256 = models.BinaryField(unique=True)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="codes")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # The signing request that used the code. The same request can ask again until it is approved.
    csr_pem = models.TextField(blank=True, default="")
    csr_sha256 = models.CharField(max_length=64, blank=True, default="")


class Ack(models.Model):
    """The time when a node first confirmed a position. Pages show it as "on 3 of 3 nodes after 41 ms"."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="acks")
    epoch = models.UUIDField()
    sequence = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "epoch", "sequence"], name="ack_unique")]


class Bootstrap(models.Model):
    """A requested or running transfer of a snapshot to a node. `beat_at` is the lease of the worker that sends it."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, related_name="bootstrap")
    reason = MessageField()
    schema = models.SmallIntegerField()  # of the snapshot; another one than the node's during a rebuild
    asked_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    beat_at = models.DateTimeField(null=True)
    chunks = models.IntegerField(default=0)
    chunks_sent = models.IntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    bytes_sent = models.BigIntegerField(default=0)
    error = MessageField(blank=True, default="")


class Divergence(models.Model):
    """A zone that differed between a node and the panel, with the difference and the time of the repair."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="divergences")
    zone_id = models.BigIntegerField()
    zone_name = models.TextField(blank=True, default="")
    words = MessageField()
    found_at = models.DateTimeField()
    repaired_at = models.DateTimeField(null=True)
    error = MessageField(blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["node", "zone_id"], condition=models.Q(repaired_at=None), name="divergence_open_once"
            )
        ]
        indexes = [models.Index(fields=["node", "-found_at"], name="divergence_of_node")]


class NodeEvent(models.Model):
    """An event for a node's page, described in one sentence. Old events are deleted."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    kind = models.SlugField(max_length=32)
    sentence = MessageField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        indexes = [models.Index(fields=["node", "-id"], name="event_of_node")]


class Heartbeat(models.Model):
    """The last heartbeat of a permanent panel process, written by `heartbeats`."""

    process = models.SlugField(primary_key=True, max_length=32)
    at = models.DateTimeField()


class PanelProcess(models.Model):
    """A panel process that runs, or that ended without reporting its end, written by `processes.beats`."""

    name = models.SlugField(max_length=32)
    host = models.CharField(max_length=255)
    pid = models.BigIntegerField()
    started_at = models.DateTimeField()
    at = models.DateTimeField()  # when it was last at work
    version = models.CharField(max_length=64, default="")
    # For a worker: the number of tasks that it can run at once and that it runs, and the oldest task with its start.
    places = models.PositiveIntegerField(default=0)
    busy = models.PositiveIntegerField(default=0)
    task = models.TextField(default="")
    task_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "host", "pid"], name="panel_process_once")]


class PeriodicTask(models.Model):
    """An entry in beat's schedule with its last success and its current error, written by `processes.periodic`."""

    name = models.SlugField(primary_key=True, max_length=64)
    since = models.DateTimeField()  # since when it is in the schedule
    succeeded_at = models.DateTimeField(null=True)
    # How often in a row it failed, since when, and the last reason.
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    error = models.TextField(default="")


class Choice(models.TextChoices):
    """The side whose content is kept if nodes have publications that are missing from the panel."""

    TAKE_OVER = "take_over", _("import content from nodes")
    KEEP = "keep", _("keep the panel’s content")


class AheadReport(models.Model):
    """The publications that a node has but the panel lacks, found during a hold, and a person's decision about them."""

    asked_at = models.DateTimeField()
    epoch = models.UUIDField()  # the panel's epoch when the report was made
    # The node that is furthest ahead; null: there was no node to ask.
    node = models.ForeignKey(Node, null=True, on_delete=models.SET_NULL, related_name="+")
    node_name = models.CharField(max_length=63, blank=True, default="")
    is_ahead = models.BooleanField(default=False)  # it has publications of a history that the panel lost
    highest_sequence = models.BigIntegerField(default=0)  # of every node that answered
    highest_zone_id = models.BigIntegerField(default=0)
    # Histories that only nodes have, begun after the backup that the panel was restored from.
    foreign_epochs = ArrayField(models.UUIDField(), default=list)
    silent_nodes = ArrayField(models.TextField(), default=list)  # those that did not answer, by name
    zones_done = models.BigIntegerField(default=0)
    zones_total = models.BigIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)
    error = MessageField(blank=True, default="")
    choice = models.CharField(max_length=16, choices=Choice, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    carried_out_at = models.DateTimeField(null=True)


class AheadZone(models.Model):
    """A zone that differs between the node and the panel. If one side lacks the zone, its id there is null."""

    report = models.ForeignKey(AheadReport, on_delete=models.CASCADE, related_name="zones")
    name = models.TextField(db_collation="C")
    id_here = models.BigIntegerField(null=True)
    id_there = models.BigIntegerField(null=True)
    serial_here = models.BigIntegerField(null=True)
    serial_there = models.BigIntegerField(null=True)
    in_trash = models.BooleanField(default=False)  # the panel has it, deleted
    error = MessageField(blank=True, default="")  # why its records could not be read
    # How the node signs it, if not as the panel (`publishing.lost_keys.LostSigning`), with encrypted private parts.
    signing: "models.JSONField[Any]" = models.JSONField(null=True)
    signing_error = MessageField(blank=True, default="")  # why the node's signing is unknown
    # Sentences that explain why validating resolvers would stop answering, by the Choice that causes this.
    breaks: "models.JSONField[Any]" = MessagesField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["report", "name"], name="ahead_zone_once")]
        indexes = [models.Index(fields=["report", "id_here"], name="ahead_zone_here")]


class AheadRRset(models.Model):
    """A differing RRset: the panel's version, and the version after a takeover. Null means that it doesn't exist."""

    zone = models.ForeignKey(AheadZone, on_delete=models.CASCADE, related_name="rrsets")
    name = models.TextField(db_collation="C")
    owner_key = models.BinaryField()
    type = models.IntegerField()
    here: "models.JSONField[Any]" = models.JSONField(null=True)
    there: "models.JSONField[Any]" = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "owner_key", "type"], name="ahead_rrset_once")]


class ParentState(models.TextChoices):
    """The result of the last successful check of a zone's parent."""

    UNKNOWN = "unknown", _("unknown")
    MATCHES = "matches", _("DS matches a signing key")
    NO_DS = "no-ds", _("no DS")
    PARTIAL = "partial", _("DS at some servers only")
    DIFFERS = "differs", _("DS doesn’t match a key")
    BOGUS = "bogus", _("signatures don’t validate")


class ParentCheck(models.Model):
    """The DS state at a signed zone's parent, according to the last answers of the parent's servers.

    If a zone is no longer signed, its row is kept while the parent has a DS. A worker claims the check by advancing
    `due_at` a little, and only this worker writes the result.
    """

    zone = models.OneToOneField("zones.Zone", on_delete=models.CASCADE, primary_key=True, related_name="parent_check")
    due_at = models.DateTimeField()
    requested_at = models.DateTimeField(null=True)  # by a person
    state = models.CharField(max_length=16, choices=ParentState, default=ParentState.UNKNOWN)
    message = MessageField(blank=True, default="")
    since = models.DateTimeField(null=True)  # with this state
    known_at = models.DateTimeField(null=True)  # when a check last had a result
    checked_at = models.DateTimeField(null=True)
    parent = models.TextField(blank=True, default="")
    # {"servers": {"name address": [DS, …]}, "ttl": seconds or null, "root": the verdict of `trust_chain` or ""}, of the
    # last check with a result.
    found: "models.JSONField[Any]" = models.JSONField(default=dict)
    # The reason why the last check had no result (empty if it had one), and the time of the first such check in a row.
    silent = MessageField(blank=True, default="")
    silent_since = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["due_at", "zone"], name="parent_check_due"),
            models.Index(
                fields=["since"], condition=models.Q(state__in=["partial", "differs", "bogus"]), name="parent_check_bad"
            ),
            models.Index(
                fields=["silent_since"], condition=models.Q(silent_since__isnull=False), name="parent_check_silent"
            ),
        ]


class Authority(models.Model):
    """The panel's certificate authority and its own client certificate. The private keys are encrypted."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    ca_pem = models.TextField()
    ca_key_encrypted = SecretField()
    client_pem = models.TextField()
    client_key_encrypted = SecretField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="authority_single")]
