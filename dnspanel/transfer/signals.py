"""The signals that wake workers: the job or template run with this id has work.

A lost signal only costs seconds, because beat finds the work.
"""

from django.dispatch import Signal

work_to_do = Signal()  # job_id
template_run_begun = Signal()  # run_id
