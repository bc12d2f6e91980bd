"""Load the sample zones and the demo's people into an empty panel."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from dnspanel.demo.load import create_demo_people, load_sample_zones


class Command(BaseCommand):
    help = "Publish the sample zones if nothing was published yet."

    def handle(self, *args: Any, **options: Any) -> None:
        create_demo_people(now=timezone.now())
        publication = load_sample_zones(now=timezone.now())
        self.stdout.write("Sample zones loaded." if publication else "The panel already has zones. Nothing was loaded.")
