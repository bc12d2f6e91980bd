"""Signals that the job with this id, of the sender's model, has work.

A lost signal only costs seconds, because beat finds the work.
"""

from django.dispatch import Signal

work_to_do = Signal()  # job_id
template_run_begun = Signal()  # run_id
