"""The job of the sender's model with this id has work. A lost signal costs seconds: beat finds the work."""

from django.dispatch import Signal

work_to_do = Signal()  # job_id
template_run_begun = Signal()  # run_id
