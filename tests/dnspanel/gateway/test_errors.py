"""Tests of gateway refusals: they contain the answer to send, and never a secret."""

import dns.message
import dns.rcode
import dns.tsig
import dns.update

from dnspanel.gateway.errors import MessageRefused, TsigRefused


def test_a_refused_message_says_what_to_answer() -> None:
    refusal = MessageRefused(dns.rcode.YXDOMAIN, "www.example.test. has records")
    assert (refusal.rcode, str(refusal)) == (dns.rcode.YXDOMAIN, "www.example.test. has records")


def test_a_refused_signature_names_the_key_and_the_fault() -> None:
    message = dns.update.UpdateMessage("example.test.")
    message.use_tsig(dns.tsig.Key("key.test.", b"secret"))
    message.to_wire()
    assert message.tsig is not None
    refusal = TsigRefused(dns.rcode.BADSIG, message.tsig[0], "key.test.")  # type: ignore[arg-type]
    assert str(refusal) == "BADSIG for the key key.test."
