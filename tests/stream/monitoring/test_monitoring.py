"""From the [metrics] table to who may see what."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from ktsafe.connectors.base import Misconfigured
from ktsafe.stream.config import settings as config
from ktsafe.stream.files.release_figures import ReleaseFigures, Secrets
from ktsafe.stream.monitoring.diagnosis import Report
from ktsafe.stream.monitoring.monitoring import access_token, status_board, status_server
from ktsafe.stream.monitoring.serving import Gate, is_loopback
from ktsafe.stream.monitoring.summary import Counts

SCHEMES = ("", "Bearer ", "Basic ", "bearer", "Digest ")
TOKEN = "0123456789abcdef"  # noqa: S105 -- of this test only


def settings(folder: Path, **metrics: object) -> config.Settings:
    """Return checked settings with keys of [metrics]."""
    text = (Path(__file__).parents[3] / "ops/examples/files.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text) | {"metrics": {"listen": "127.0.0.1:0", **metrics}}
    return config.check(document, folder, "test")


def private_token(folder: Path) -> None:
    """Write a token that its owner alone may read."""
    path = folder / "token"
    path.touch(mode=0o600)
    path.write_text(f"{TOKEN}\nanother line\n")


@pytest.mark.parametrize("shown", [True, False])
def test_page_and_metrics_follow_one_rule(tmp_path: Path, shown: bool) -> None:
    """Readers with a token see secrets on both, others on neither."""
    private_token(tmp_path)
    found = settings(tmp_path, **({"token_file": "token"} if shown else {}))
    board = status_board(found, Counts())
    metrics, server = status_server(found, board)
    server.close()
    secrets = Secrets(
        dict.fromkeys(
            ("unowned_vertices", "inserted_edges", "deleted_vertices", "deleted_edges"), 5
        ),
        {"copies": 9},
        {},
        {},
    )
    figures = ReleaseFigures(
        release_id="r", nominal_us=0, vertices=1, edges=1, is_published=True, secrets=secrets
    )
    metrics.release_audited(figures)
    board.release_audited(figures)
    _, body = metrics.exposition()
    assert (b"ktsafe_release_cost_elements" in body) is shown
    body = server.endpoints.answer(
        "/status.json", host="localhost", authorization=f"Bearer {TOKEN}"
    ).body
    report = msgspec.json.decode(body, type=Report)
    assert (report.releases[0].secrets is not None) is shown


def test_the_token_is_read_from_a_private_file(tmp_path: Path) -> None:
    """Without a file none is needed."""
    private_token(tmp_path)
    assert access_token(settings(tmp_path, token_file="token")) == TOKEN  # noqa: S106
    assert access_token(settings(tmp_path)) is None


@pytest.mark.parametrize("fault", ["missing", "empty", "short", "not ASCII", "for everybody"])
def test_a_bad_token_stops_the_start(tmp_path: Path, fault: str) -> None:
    """Nothing is served with a token that is none; the error says what to do and not what it is."""
    path = tmp_path / "token"
    text = {"empty": "", "short": "0123456789", "not ASCII": "\N{SNOWMAN}" * 20}.get(fault, TOKEN)
    if fault != "missing":
        path.touch(mode=0o644 if fault == "for everybody" else 0o600)
        path.chmod(0o644 if fault == "for everybody" else 0o600)
        path.write_text(text)
    with pytest.raises(Misconfigured) as caught:
        access_token(settings(tmp_path, token_file="token"))  # noqa: S106
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 -- the case
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_loopback_is_told_from_the_world(host: str, expected: bool) -> None:
    """Addresses of this machine alone, and the one name that stands for them."""
    assert is_loopback(host) is expected
    assert (
        Gate(None, "127.0.0.1").is_addressed(f"[{host}]:9464" if ":" in host else host) is expected
    )


@settings_of_hypothesis(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(max_codepoint=255), max_size=60), st.sampled_from(SCHEMES))
def test_no_header_opens_but_the_token(text: str, scheme: str) -> None:
    """Whatever bytes a client sends: an answer, and no entry without the token."""
    gate = Gate(TOKEN, "127.0.0.1")
    assert gate.admits(scheme + text) is (scheme == "Bearer " and text.strip() == TOKEN)
    assert gate.admits(f"Bearer {TOKEN}")
    gate.is_addressed(text)
