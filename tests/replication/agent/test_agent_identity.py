"""An agent's identity, and changes to each of its parts."""

import contextlib
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from replication.agent import agent_identity
from replication.agent.agent_config import AgentConfig, read_config
from replication.agent.agent_identity import NEXT_FILE, NEXT_KEY_FILE, IdentityKeeper, SigningKeys
from replication.errors import BadBytes, BadSignature, WrongCluster
from replication.wire.keyring import Keyring, encode_keyring
from tests.replication.agent.servers import AgentFiles, Authority, Pdns, short_directory
from tests.replication.panel import CLUSTER, SIGNING_KEY

OLD = SIGNING_KEY.public_key().public_bytes_raw()
NEW_KEY = Ed25519PrivateKey.generate()
NEW = NEW_KEY.public_key().public_bytes_raw()


class Home:
    """The files of an agent that is not running."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority(directory)
        self.files = AgentFiles(directory, self.authority, Pdns(directory))

    @property
    def config(self) -> AgentConfig:
        return read_config(self.files.path)

    def keeper(self) -> IdentityKeeper:
        return IdentityKeeper(self.config)

    def signed(self, csr_pem: str, name: str = "ns1") -> str:
        key = x509.load_pem_x509_csr(csr_pem.encode()).public_key()
        return self.authority.sign(key, name).decode()  # type: ignore[arg-type]

    @property
    def presented(self) -> str:
        """The certificate on disk. Loading it also checks that the key matches."""
        config = self.config
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(config.certificate_path, config.key_path)
        return config.certificate_path.read_text()


@pytest.fixture
def home() -> Iterator[Home]:
    with short_directory() as directory:
        yield Home(directory)


def test_repeated_requests_are_for_one_new_key(home: Home) -> None:
    keeper = home.keeper()
    first = x509.load_pem_x509_csr(keeper.request().encode())
    again = x509.load_pem_x509_csr(home.keeper().request().encode())
    assert first.public_key() == again.public_key()
    assert first.public_key() != x509.load_pem_x509_certificate(home.presented.encode()).public_key()


def test_a_new_certificate_is_presented_at_once_and_after_a_restart(home: Home) -> None:
    keeper = home.keeper()
    before = keeper.context
    certificate = home.signed(keeper.request())
    for _ in range(2):  # sent twice, it is installed once
        keeper.install(certificate, home.authority.pem.decode())
    assert keeper.context is not before
    assert home.presented == certificate
    assert home.keeper().certificate_expires_at == keeper.certificate_expires_at
    left = {path.name for path in home.config.identity_dir.iterdir()}
    assert left == {"node.key", "node.pem", "ca.pem", "identity.json"}
    assert (home.config.key_path.stat().st_mode & 0o077) == 0


@pytest.mark.parametrize("writes", range(1, 4))
def test_a_crash_between_two_files_leaves_a_key_with_its_own_certificate(
    home: Home, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    keeper = home.keeper()
    old = home.presented
    certificate = home.signed(keeper.request())
    original: Callable[[Path, str], None] = agent_identity.write_atomically
    done = 0

    def cut(path: Path, text: str) -> None:
        nonlocal done
        if done == writes:
            raise KeyboardInterrupt
        done += 1
        original(path, text)

    with monkeypatch.context() as patched:
        patched.setattr(agent_identity, "write_atomically", cut)
        with contextlib.suppress(KeyboardInterrupt):
            keeper.install(certificate, home.authority.pem.decode())
    home.keeper()
    assert home.presented == certificate != old


def test_a_crash_before_the_decision_leaves_the_old_pair_and_the_new_key(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = home.keeper()
    old, request = home.presented, keeper.request()

    def cut(path: Path, text: str) -> None:
        raise OSError(28, "no space left", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(agent_identity, "write_atomically", cut)
        with pytest.raises(OSError, match="no space"):
            keeper.install(home.signed(request), home.authority.pem.decode())
    assert home.keeper().request()
    assert home.presented == old
    keeper.install(home.signed(request), home.authority.pem.decode())
    assert home.presented != old


def test_a_certificate_that_is_not_ours_is_refused(home: Home, tmp_path: Path) -> None:
    keeper = home.keeper()
    request, ca = keeper.request(), home.authority.pem.decode()
    stranger = Authority(tmp_path)
    key = x509.load_pem_x509_csr(request.encode()).public_key()
    for certificate, authority in (
        (stranger.sign(key, "ns1").decode(), ca),  # type: ignore[arg-type]
        (home.signed(request), stranger.pem.decode()),
        (home.signed(request, "ns2"), ca),
        ("rubbish", ca),
        (stranger.issue("ns1", "other")[0].read_text(), ca),
    ):
        with pytest.raises(BadBytes):
            keeper.install(certificate, authority)
    (home.config.identity_dir / NEXT_KEY_FILE).unlink()
    with pytest.raises(BadBytes, match="a key that this agent does not have"):
        keeper.install(home.signed(request), ca)
    assert not (home.config.identity_dir / NEXT_FILE).exists()


def test_rotated_signing_keys_count_at_once_for_whoever_holds_them(home: Home) -> None:
    keeper = home.keeper()
    accepted = keeper.signing_keys
    assert list(accepted) == [OLD]
    keeper.take_keys(encode_keyring(Keyring(CLUSTER, 2, (NEW, OLD)), SIGNING_KEY))
    assert (list(accepted), accepted[0], accepted[0:1], len(accepted)) == ([NEW, OLD], NEW, (NEW,), 2)
    keeper.take_keys(encode_keyring(Keyring(CLUSTER, 3, (NEW,)), NEW_KEY))
    assert list(accepted) == list(home.keeper().signing_keys) == [NEW]


def test_an_older_list_changes_nothing_and_a_strangers_or_another_clusters_is_refused(home: Home) -> None:
    keeper = home.keeper()
    keeper.take_keys(encode_keyring(Keyring(CLUSTER, 5, (NEW, OLD)), SIGNING_KEY))
    keeper.take_keys(encode_keyring(Keyring(CLUSTER, 4, (OLD,)), SIGNING_KEY))
    assert list(keeper.signing_keys) == [NEW, OLD]
    with pytest.raises(BadSignature):
        keeper.take_keys(encode_keyring(Keyring(CLUSTER, 9, (NEW,)), Ed25519PrivateKey.generate()))
    other = type(CLUSTER)(int=CLUSTER.int ^ 1)
    with pytest.raises(WrongCluster):
        keeper.take_keys(encode_keyring(Keyring(other, 9, (NEW,)), SIGNING_KEY))
    assert list(keeper.signing_keys) == [NEW, OLD]


def test_another_schema_is_kept_with_the_keys(home: Home) -> None:
    keeper = home.keeper()
    keeper.take_keys(encode_keyring(Keyring(CLUSTER, 2, (NEW, OLD)), SIGNING_KEY))
    keeper.change_schema(5)
    again = home.keeper().identity
    assert (again.schema, again.signing_keys, again.keys_generation) == (5, (NEW, OLD), 2)


def test_signing_keys_are_a_sequence() -> None:
    keys = SigningKeys((b"a", b"b"))
    assert (b"a" in keys, list(reversed(keys))) == (True, [b"b", b"a"])
