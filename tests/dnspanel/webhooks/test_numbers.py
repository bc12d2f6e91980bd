"""Tests of the delivery numbers of a webhook."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from dnspanel.accounts.models import User
from dnspanel.webhooks.numbers import next_numbers
from tests.dnspanel.webhooks.conftest import MakeWebhook


def test_each_webhook_counts_its_own_from_one(bob: User, webhook: MakeWebhook) -> None:
    first, second = webhook(bob).webhook.pk, webhook(bob).webhook.pk
    assert [list(next_numbers(first, count)) for count in (2, 0, 1)] == [[1, 2], [], [3]]
    assert list(next_numbers(second, 1)) == [1]


@pytest.mark.django_db(transaction=True)
def test_who_takes_numbers_at_the_same_time_gets_others(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob).webhook.pk

    def take(_: int) -> list[int]:
        try:
            with transaction.atomic():
                return list(next_numbers(made, 3))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        taken = [number for numbers in pool.map(take, range(8)) for number in numbers]
    assert sorted(taken) == list(range(1, 25))
