"""Tests of enrollment with real keys, requests and certificates."""

import base64
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.fleet.errors import BadNode, BadRequest, CodeRefused, NameTaken, UnknownNode, WrongState
from dnspanel.fleet.models import EnrolmentCode, Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.nodes.authority import ensure_authority, fingerprint
from dnspanel.publish.keys import sealing_keys
from dnspanel.publish.models import SealingKey
from dnspanel.zones.errors import Forbidden
from replication.wire.enrolment import request_fingerprint
from tests.dnspanel.fleet.conftest import NOW, MakeNode, new_key, signing_request
from tests.people import make_person

pytestmark = pytest.mark.django_db


def test_a_code_names_the_authority_and_is_stored_only_as_a_hash(waiting_node: MakeNode) -> None:
    code = node_lifecycle.make_code(node=waiting_node(), now=NOW, by=None)
    secret, _, authority = code.partition(".")
    assert fingerprint(ensure_authority(now=NOW)).startswith(authority)
    assert len(authority) == 32
    assert secret.encode() not in bytes(EnrolmentCode.objects.get().secret_sha256)


def test_an_agent_waits_until_a_person_approves_and_then_gets_its_certificate(waiting_node: MakeNode) -> None:
    node = waiting_node()
    code = node_lifecycle.make_code(node=node, now=NOW, by=None)
    key = new_key()
    csr = signing_request(key)
    waiting = node_lifecycle.submit_request(code=code, csr_pem=csr, now=NOW)
    assert isinstance(waiting, node_lifecycle.Waiting)
    assert waiting.fingerprint == request_fingerprint(x509.load_pem_x509_csr(csr.encode()))
    node_lifecycle.approve(node=node, now=NOW, by=None)
    enrolled = node_lifecycle.submit_request(code=code, csr_pem=csr, now=NOW + timedelta(hours=1))
    assert isinstance(enrolled, node_lifecycle.Enrolled)
    certificate = x509.load_pem_x509_certificate(enrolled.certificate.encode())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(enrolled.ca.encode()))
    assert certificate.public_key() == key.public_key()
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert certificate.not_valid_after_utc - NOW > timedelta(days=364)
    assert (enrolled.node, enrolled.schema) == ("ns1", 4)
    [public] = enrolled.signing_keys
    ed25519.Ed25519PublicKey.from_public_bytes(base64.b64decode(public))
    node.refresh_from_db()
    assert node.state == NodeState.ACTIVE
    assert node.certificate_sha256 == certificate.fingerprint(hashes.SHA256()).hex()


def test_a_code_serves_one_request_only(waiting_node: MakeNode) -> None:
    code = node_lifecycle.make_code(node=waiting_node(), now=NOW, by=None)
    node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=NOW)
    with pytest.raises(CodeRefused):
        node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=NOW)


def test_a_code_is_worth_nothing_after_fifteen_minutes_or_once_there_is_a_newer_one(waiting_node: MakeNode) -> None:
    node = waiting_node()
    old = node_lifecycle.make_code(node=node, now=NOW, by=None)
    code = node_lifecycle.make_code(node=node, now=NOW, by=None)
    with pytest.raises(CodeRefused):
        node_lifecycle.submit_request(code=old, csr_pem=signing_request(), now=NOW)
    with pytest.raises(CodeRefused):
        node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=NOW + timedelta(minutes=15))


def test_requests_that_prove_no_key_or_hold_another_kind_of_key_are_refused(waiting_node: MakeNode) -> None:
    code = node_lifecycle.make_code(node=waiting_node(), now=NOW, by=None)
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(rsa_key, hashes.SHA256())
    rsa_pem = request.public_bytes(serialization.Encoding.PEM).decode()
    der = bytearray(x509.load_pem_x509_csr(signing_request().encode()).public_bytes(serialization.Encoding.DER))
    der[-1] ^= 1
    forged = "-----BEGIN CERTIFICATE REQUEST-----\n" + base64.encodebytes(bytes(der)).decode()
    forged += "-----END CERTIFICATE REQUEST-----\n"
    for csr in ("", "nonsense", "ünicode", rsa_pem, forged):
        with pytest.raises(BadRequest):
            node_lifecycle.submit_request(code=code, csr_pem=csr, now=NOW)
    assert EnrolmentCode.objects.get().used_at is None


def test_nothing_can_be_approved_before_an_agent_has_asked(waiting_node: MakeNode) -> None:
    with pytest.raises(WrongState):
        node_lifecycle.approve(node=waiting_node(), now=NOW, by=None)


def test_a_declined_request_gets_nothing_and_the_node_may_try_again(waiting_node: MakeNode) -> None:
    node = waiting_node()
    code = node_lifecycle.make_code(node=node, now=NOW, by=None)
    csr = signing_request()
    node_lifecycle.submit_request(code=code, csr_pem=csr, now=NOW)
    node_lifecycle.decline(node=node, now=NOW, by=None)
    with pytest.raises(CodeRefused):
        node_lifecycle.submit_request(code=code, csr_pem=csr, now=NOW)
    again = node_lifecycle.make_code(node=node, now=NOW, by=None)
    assert isinstance(node_lifecycle.submit_request(code=again, csr_pem=csr, now=NOW), node_lifecycle.Waiting)


def test_a_node_is_drained_resumed_and_retired_once_each(active_node: MakeNode) -> None:
    node = active_node()
    node_lifecycle.drain(node=node, now=NOW, by=None)
    with pytest.raises(WrongState):
        node_lifecycle.drain(node=node, now=NOW, by=None)
    node_lifecycle.resume(node=node, now=NOW, by=None)
    node_lifecycle.retire(node=node, now=NOW, by=None)
    with pytest.raises(WrongState):
        node_lifecycle.resume(node=node, now=NOW, by=None)
    with pytest.raises(WrongState):
        node_lifecycle.make_code(node=node, now=NOW, by=None)
    assert node.state == NodeState.RETIRED


@pytest.mark.parametrize("leave", [node_lifecycle.revoke, node_lifecycle.retire])
def test_what_a_node_that_left_had_opens_no_key_that_is_published_later(
    active_node: MakeNode, leave: Callable[..., Node]
) -> None:
    first, second = active_node("ns1"), active_node("ns2", agent_port=8534)
    leave(node=first, now=NOW, by=None)
    assert not SealingKey.objects.exists(), "nothing was sealed yet"
    before = sealing_keys.sealing_key(now=NOW)
    leave(node=second, now=NOW, by=None)
    after = sealing_keys.sealing_key(now=NOW)
    assert after.id > before.id
    assert sealing_keys.all_sealing_keys() == [after, before], "what was sealed before still opens"
    assert AuditEntry.objects.get(action="sealing_key.rotate").target == str(after.id)


def test_a_retired_nodes_code_gives_out_nothing_more(waiting_node: MakeNode) -> None:
    node = waiting_node()
    code = node_lifecycle.make_code(node=node, now=NOW, by=None)
    csr = signing_request()
    node_lifecycle.submit_request(code=code, csr_pem=csr, now=NOW)
    node_lifecycle.approve(node=node, now=NOW, by=None)
    node_lifecycle.retire(node=node, now=NOW, by=None)
    with pytest.raises(CodeRefused):
        node_lifecycle.submit_request(code=code, csr_pem=csr, now=NOW)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "NS 1"),
        ("name", "-ns1"),
        ("dns_address", "ns1.test"),
        ("dns_port", 0),
        ("agent_host", "a b"),
        ("agent_port", 70000),
        ("schema", 7),
    ],
)
def test_a_node_needs_usable_values(field: str, value: str | int) -> None:
    usable = {"name": "ns1", "dns_address": "2001:db8::1", "dns_port": 53, "agent_host": "ns1.test", "agent_port": 1}
    described = node_lifecycle.NodeDescription(**{**usable, "schema": 4, field: value})  # type: ignore[arg-type]
    with pytest.raises(BadNode) as refused:
        node_lifecycle.create_node(described, now=NOW, by=None)
    assert refused.value.field == field


def test_two_nodes_cannot_have_one_name(waiting_node: MakeNode) -> None:
    waiting_node("ns1")
    with pytest.raises(NameTaken):
        waiting_node("ns1")


def test_only_administrators_enroll_nodes(waiting_node: MakeNode) -> None:
    node = waiting_node()
    editor = User.objects.create(username="bob", email="bob@people.test", role=Role.EDITOR)
    for verb in (
        node_lifecycle.make_code,
        node_lifecycle.approve,
        node_lifecycle.decline,
        node_lifecycle.drain,
        node_lifecycle.resume,
        node_lifecycle.retire,
    ):
        with pytest.raises(Forbidden):
            verb(node=node, now=NOW, by=editor)
    assert Node.objects.get().state == NodeState.AWAITING_APPROVAL


def test_a_node_is_found_by_name_or_unknown(waiting_node: MakeNode) -> None:
    assert node_lifecycle.node_by_name(waiting_node("ns7").name).name == "ns7"
    with pytest.raises(UnknownNode):
        node_lifecycle.node_by_name("ns8")


def test_a_code_is_one_word_on_any_command_line(waiting_node: MakeNode) -> None:
    """Regression test: about one code in sixty began with a dash and was parsed as an option."""
    node = waiting_node()
    for _ in range(5):
        code = node_lifecycle.make_code(node=node, now=NOW, by=None)
        assert re.fullmatch(r"[0-9a-f]{48}\.[0-9a-f]{32}", code)


def test_every_act_on_a_node_is_in_the_audit_log(waiting_node: MakeNode) -> None:
    alice = make_person("alice", Role.ADMINISTRATOR)
    node = waiting_node()
    code = node_lifecycle.make_code(node=node, now=NOW, by=alice)
    node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=NOW)
    for act in (node_lifecycle.approve, node_lifecycle.drain, node_lifecycle.resume, node_lifecycle.retire):
        act(node=node, now=NOW, by=alice)
    with pytest.raises(WrongState):
        node_lifecycle.retire(node=node, now=NOW, by=alice)
    entries = AuditEntry.objects.filter(user=alice, target=node.name).order_by("pk").values_list("action", flat=True)
    assert list(entries) == [f"node.{act}" for act in ("code", "approve", "drain", "resume", "retire")]
    assert code not in str(list(AuditEntry.objects.values()))
