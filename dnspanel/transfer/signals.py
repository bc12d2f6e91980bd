"""The signals that wake workers. Each has the id of the import or template run that has work.

A lost signal only costs seconds, because Celery beat finds the work.
"""

from django.dispatch import Signal

work_to_do = Signal()  # job_id
template_run_begun = Signal()  # run_id
