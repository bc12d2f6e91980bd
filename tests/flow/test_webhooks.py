"""Webhooks in a whole panel: a publication is noticed, and sent only to where the panel sends."""

import json

import pytest

from dnspanel.demo.stack import Stack
from tests.stack import make_person, run_script, until

pytestmark = pytest.mark.flow

# A webhook whose name was public when it was made, and leads to this machine when it is sent.
SUBSCRIBE_AND_PUBLISH = """
import django
django.setup()
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.webhooks import hooks
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit
owner, now = User.objects.get(username="wanda"), timezone.now()
terms = hooks.WebhookTerms(url="https://localhost:8443/", events=["publication.saved", "publication.everywhere"])
hooks.create_webhook(terms=terms, by=owner, now=now, resolve=lambda host, port: ["9.9.9.9"])
edit.create_zone(zone=edit.NewZone("hooked.test."), acting=Acting(owner, "web", timezone.now()))
"""
DELIVERIES = """
import json, django
django.setup()
from dnspanel.webhooks.models import Delivery
print(json.dumps(list(Delivery.objects.order_by("pk").values_list("event__kind", "state", "error"))))
"""


def test_beat_and_workers_tell_of_a_publication_and_refuse_a_name_that_leads_home(stack: Stack) -> None:
    make_person(stack, "wanda")
    run_script(stack, SUBSCRIBE_AND_PUBLISH)

    def attempts() -> dict[str, str]:
        found = json.loads(run_script(stack, DELIVERIES))
        return {kind: error for kind, _, error in found if error}

    until(lambda: len(attempts()) == 2, seconds=30, what="an attempt for each of the two events")
    for error in attempts().values():
        assert "not a public address" in error
