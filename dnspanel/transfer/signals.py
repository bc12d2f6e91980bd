"""Signals that wake workers. Each contains the id of an import, export, comparison or template run with work.

A lost signal only costs seconds, because Celery beat finds the work.
"""

from django.dispatch import Signal

work_to_do = Signal()  # job_id
template_run_begun = Signal()  # run_id
# An import has created its piece's zones: `job`, `piece`, `now`. Receivers run in the import's worker, can run twice,
# and have no transaction.
zones_created = Signal()
