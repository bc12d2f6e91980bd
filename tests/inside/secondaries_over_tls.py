"""Zones that secondaries transfer over TLS."""

from typing import Any

from django.conf import settings
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.secondaries import set_up_secondaries
from dnspanel.secondaries.configuration import parts_for
from dnspanel.secondaries.models import Member
from dnspanel.secondaries.server_certificate import tls_endpoint
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit


def set_up_servers(ports: dict[str, int], tls_ports: dict[str, int], zones: list[str], certificate: str) -> Any:
    """Create zones, and a secondary over TLS for each kind of server. Return their configurations."""
    owner = User.objects.get(username="secundus")
    for name in zones:
        edit.create_zone(zone=edit.NewZone(name), acting=Acting(owner, "web", timezone.now()))
    found = {}
    for kind, port in ports.items():
        terms = set_up_secondaries.Terms(
            f"{kind}-tls",
            [f"127.0.0.1:{port}"],
            kind=kind.removeprefix("newer-"),
            zones=zones,
            choice="list",
            transport="certificate",
            certificate=certificate,
            tls_port=tls_ports[kind],
        )
        made = set_up_secondaries.create_secondary(terms=terms, by=owner, now=timezone.now())
        parts = parts_for(
            made.secondary,
            gateways=settings.GATEWAY_ADDRESSES,
            secret=made.secret,
            zones=zones,
            tls=tls_endpoint(now=timezone.now()),
        )
        found[kind] = {"parts": [part.text for part in parts], "key": made.secondary.tsig_name, "secret": made.secret}
    return found


def members() -> Any:
    """Return the transfer state of each TLS secondary's zones."""
    return list(
        Member.objects.filter(until=None, secondary__name__endswith="-tls").values(
            "secondary__name",
            "secondary__refusals",
            "secondary__refused_reason",
            "zone_name",
            "transferred_how",
            "transferred_over_tls",
            "behind_since",
            "served_serial",
            "zone__serial",
            "question_error",
        )
    )
