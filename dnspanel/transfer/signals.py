"""A bell without data: the job of the sender's model with this id has work. Lost, it costs until the next beat."""

from django.dispatch import Signal

work_to_do = Signal()  # job_id
