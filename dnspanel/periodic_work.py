"""Celery beat's schedule of periodic tasks."""

from typing import Any


def _entry(task: str, seconds: float, expires: int | None = None) -> dict[str, Any]:
    """Return a schedule entry for a task, such as `fleet.check_parents`. Messages expire after `expires` seconds."""
    app, _, function = task.rpartition(".")
    entry: dict[str, Any] = {"task": f"dnspanel.{app}.tasks.{function}", "schedule": seconds}
    return entry if expires is None else entry | {"options": {"expires": expires}}


CELERY_BEAT_SCHEDULE = {
    "encode-log": _entry("publish.encode_log", 2.0, 5),
    "empty-trash": _entry("zones.empty_trash", 86_400.0),
    "prune-log": _entry("zones.prune_log", 3600.0),
    "link-acts": _entry("zones.link_acts", 5.0, 5),
    "check-audit-chain": _entry("zones.check_audit_chain", 86_400.0),
    "tend-search": _entry("zones.tend_search", 180.0, 170),
    "follow-in-search": _entry("zones.follow_in_search", 5.0, 5),
    "drive-runs": _entry("zones.drive_runs", 5.0, 5),
    "look-at-what-is-published": _entry("zones.look_at_what_is_published", 5.0, 5),
    "look-at-ldap-people": _entry("accounts.look_at_ldap_people", 60.0, 55),
    "resume-denial": _entry("zones.resume_denial", 60.0, 55),
    "publish-due": _entry("zones.publish_due", 10.0, 9),
    "remove-expired": _entry("zones.remove_expired", 30.0, 25),
    "drive-transfers": _entry("transfer.drive_transfers", 2.0, 5),
    "keep-addresses": _entry("transfer.keep_addresses", 60.0, 55),
    "forget-old-files": _entry("transfer.forget_old_files", 3600.0),
    "tend-hold": _entry("fleet.tend_hold", 3.0, 5),
    "tend-log": _entry("fleet.tend_log", 60.0, 50),
    "bootstrap-waiting-nodes": _entry("fleet.bootstrap_waiting_nodes", 5.0, 5),
    "push-late-nodes": _entry("fleet.push_late_nodes", 2.0, 5),
    "check-parents": _entry("fleet.check_parents", 10.0, 10),
    "look-at-unproven-zones": _entry("fleet.look_at_unproven_zones", 5.0, 5),
    "count-queries": _entry("fleet.count_queries", 300.0, 290),
    "compare-nodes": _entry("fleet.compare_nodes", 60.0, 55),
    "watch-fleet": _entry("alerts.watch_fleet", 5.0, 10),
    "forget-old-alerts": _entry("alerts.forget_old_alerts", 86_400.0),
    "rotate-identities": _entry("fleet.rotate_identities", 30.0, 25),
    "set-up-computed-types": _entry("fleet.set_up_computed_types", 5.0, 5),
    "tidy-identities": _entry("fleet.tidy_identities", 3600.0),
    "drive-rollovers": _entry("fleet.drive_rollovers", 10.0, 9),
    "reconcile-signalling-names": _entry("fleet.reconcile_signalling_names", 60.0, 55),
    "begin-due-rollovers": _entry("fleet.begin_due_rollovers", 3600.0),
    "begin-first-ds": _entry("fleet.begin_first_ds", 120.0, 110),
    "advance-delivery": _entry("fleet.advance_delivery", 1.0, 3),
    "notice-events": _entry("webhooks.notice_events", 2.0, 5),
    "ask-quiet-hooks": _entry("webhooks.ask_quiet_hooks", 30.0, 25),
    "drive-secondaries": _entry("secondaries.drive_secondaries", 2.0, 5),
    "drive-transfers-in": _entry("primaries.drive_transfers_in", 2.0, 5),
    "follow-catalogs": _entry("catalogs.follow_catalogs", 5.0, 10),
    "follow-producers": _entry("catalogs.follow_producers", 5.0, 10),
    "follow-members": _entry("secondaries.follow_members", 30.0, 25),
    "renew-signatures-elsewhere": _entry("secondaries.renew_signatures", 60.0, 55),
    "forget-answers": _entry("api.forget_answers", 3600.0, 3500),
    "drive-evidence": _entry("audit.forward.drive_evidence", 5.0, 5),
    "forget-old-deliveries": _entry("webhooks.forget_old_deliveries", 86_400.0),
}
