"""A fleet of nodes with different LMDB schemas."""

from typing import Any

from django.conf import settings
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit
from replication.dns.rrset import RRset


def publish(name: str, address: str) -> None:
    """Create a zone with this address at www."""
    rrsets = [RRset("www." + name, 1, 300, (address,)), RRset(name, 2, 300, ("ns1.example.net.",))]
    edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(None, "system", timezone.now()))


def page(method: str, path: str, *data: str) -> Any:
    """Request a page as Ana, and return its HTML."""
    settings.ALLOWED_HOSTS = ["*"]
    client = Client()
    client.force_login(User.objects.get(username="ana"), backend="django.contrib.auth.backends.ModelBackend")
    answer = client.get(path) if method == "GET" else client.post(path, dict(word.split("=", 1) for word in data))
    return answer.content.decode()


def state(name: str) -> Any:
    """Return the panel's data about a node: schema, report, and True if a bootstrap is in progress."""
    node = Node.objects.get(name=name)
    return {"schema": node.schema, "report": node.report, "bootstrap": hasattr(node, "bootstrap")}
