"""Tests of signatures by Standard Webhooks."""

from dnspanel.webhooks.sign_events import new_secret, signed_headers


def test_the_example_of_the_specifications_reference_library_comes_out() -> None:
    headers = signed_headers(
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1614265330,
        body=b'{"test": 2432232314}',
        secrets=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_two_secrets_make_two_signatures() -> None:
    first, second = new_secret(), new_secret()
    assert first != second
    both = signed_headers(message_id="m", timestamp=1, body=b"{}", secrets=[first, second])["webhook-signature"]
    one, other = (
        signed_headers(message_id="m", timestamp=1, body=b"{}", secrets=[secret])["webhook-signature"]
        for secret in (first, second)
    )
    assert both == f"{one} {other}"
