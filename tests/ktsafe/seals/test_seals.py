"""Chain, log and signatures: what was published is recognized, and all else is told."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ktsafe
from ktsafe.reader import NotARelease
from ktsafe.seals import check_seals, merkle_root, public_key, read_seal, signed_bytes
from ktsafe.verify import Verdict
from tests import sealed

CT_ENTRIES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657"]
CT_ENTRIES += ["606162636465666768696a6b6c6d6e6f"]
CT_ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""The test vectors of the reference implementation of RFC 6962."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Give five signed releases, the first two of an older version, and the public key."""
    folder = tmp_path_factory.mktemp("sealed")
    sealed.sealed_releases(folder / "releases", 5, sealed.signer(folder), past=2)
    return folder / "releases", sealed.key_files(folder)[1]


@pytest.fixture
def releases(made, tmp_path):
    """Give a copy of them to change."""
    shutil.copytree(made[0], tmp_path / "releases")
    return sorted((tmp_path / "releases").iterdir())


@pytest.fixture
def keys(made):
    return [public_key(made[1].read_bytes())]


def checks(folders, keys=()):
    return check_seals([(f / "manifest.json").read_bytes() for f in folders], keys)


def told(folders, keys=()):
    """Return the numbers of the releases at which something is told, and what."""
    return {int(c.release_id[:6]): c.problems[0] for c in checks(folders, keys) if c.problems}


def test_roots_are_those_of_the_rfc():
    """The tree is that of RFC 6962 on its reference vectors."""
    entries = [bytes.fromhex(entry) for entry in CT_ENTRIES]
    assert [merkle_root(entries[: n + 1]).hex() for n in range(8)] == CT_ROOTS


def naive_root(entries):
    """RFC 6962, section 2.1, word by word."""
    if not entries:
        return hashlib.sha256(b"").digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\0" + entries[0]).digest()
    k = 1
    while 2 * k < len(entries):
        k *= 2
    left, right = naive_root(entries[:k]), naive_root(entries[k:])
    return hashlib.sha256(b"\1" + left + right).digest()


@given(entries=st.lists(st.binary(max_size=3), max_size=40))
def test_roots_of_any_size(entries):
    """It is the RFC's recursion for any number of entries."""
    assert merkle_root(entries) == naive_root(entries)


def test_what_was_published_is_recognized(releases, keys):
    """Chained and signed; older ones are vouched for by those that name them."""
    found = checks(releases, keys)
    assert [check.problems for check in found] == [()] * 5
    assert [check.signature for check in found] == [*["vouched for"] * 2, *["valid"] * 3]
    assert [check.size for check in found] == [None, None, 2, 3, 4]


def test_a_part_of_the_releases_is_recognized(releases, keys):
    """Without the first ones the rest is a chain, and each by itself is signed."""
    assert told(releases[3:], keys) == {}
    assert told(releases[4:], keys) == {}


def test_each_gap_is_told_at_the_release_behind_it(tmp_path):
    """Whichever releases are missing, in however many places."""
    folders = sealed.sealed_releases(tmp_path, 7)
    for kept in (each for n in range(1, 8) for each in itertools.combinations(range(7), n)):
        found = checks([folders[i] for i in kept])
        gaps = [0, *(after - before - 1 for before, after in itertools.pairwise(kept))]
        for check, gap in zip(found, gaps, strict=True):
            told_of = [problem.partition(" between")[0] for problem in check.problems]
            assert told_of == ([f"{gap} releases"] if gap else []), kept


def test_releases_out_of_order_are_told(releases):
    """Whatever folders are called, manifests name the ones before them."""
    a, b, c, d, e = releases
    assert "out of order" in told([a, b, d, c, e])[3]


def test_a_release_that_was_put_in_is_told(releases, keys, tmp_path):
    """A forged release between two is named by none; behind the last one it is not signed."""
    digests = [hashlib.sha256((f / "manifest.json").read_bytes()).hexdigest() for f in releases]
    forged = shutil.copytree(releases[4], tmp_path / "forged")
    sealed.sealed(forged, digests[:4], None)
    assert "put in" in told([*releases[:4], forged, releases[4]])[5]
    sealed.sealed(forged, digests, None)
    assert told([*releases, forged], keys) == {5: "it is not signed"}
    sealed.sealed(forged, digests, sealed.signer(tmp_path, 2))
    assert told([*releases, forged], keys) == {5: "it is signed by another key"}


def test_what_another_key_signed_is_told(releases, keys, tmp_path):
    """The last release signed again by another key; an earlier one breaks the chain, too."""
    digests = [hashlib.sha256((f / "manifest.json").read_bytes()).hexdigest() for f in releases]
    sealed.sealed(releases[4], digests[:4], sealed.signer(tmp_path, 2))
    assert told(releases, keys) == {5: "it is signed by another key"}
    sealed.sealed(releases[3], digests[:3], sealed.signer(tmp_path, 2))
    assert set(told(releases, keys)) == {4, 5}
    assert set(told(releases)) == {5}


def test_a_new_key_vouches_for_what_the_old_one_signed(releases, tmp_path):
    """After a rotation the new public key is enough."""
    digests = [hashlib.sha256((f / "manifest.json").read_bytes()).hexdigest() for f in releases]
    sealed.sealed(releases[4], digests[:4], sealed.signer(tmp_path, 2))
    keys = [public_key(sealed.key_files(tmp_path, 2)[1].read_bytes())]
    found = checks(releases, keys)
    assert [check.problems for check in found] == [()] * 5
    assert [check.signature for check in found] == [*["vouched for"] * 4, "valid"]


@pytest.mark.parametrize("at", range(3, 6))
def test_no_bit_of_a_manifest_can_be_changed(releases, keys, at):
    """Every change of a sealed manifest breaks its signature; stripping it is told, too."""
    path = releases[at - 1] / "manifest.json"
    text = path.read_text()
    path.write_text(text.replace('"k": 2', '"k": 3'))
    assert at in told(releases, keys)
    manifest = json.loads(text)
    del manifest["seal"]
    path.write_text(json.dumps(manifest))
    assert told(releases, keys)


def test_the_log_is_append_only(releases, tmp_path):
    """A release that names another past than the one at hand is told, whoever signed it."""
    digests = [hashlib.sha256((f / "manifest.json").read_bytes()).hexdigest() for f in releases]
    sealed.sealed(releases[4], ["0" * 64, *digests[1:4]], None)
    assert told(releases) == {5: "its log is not that of the releases before it"}


def test_equal_keys_give_equal_bytes(made, tmp_path):
    """Signatures are deterministic; without a key seals are there, unsigned."""
    again = sealed.sealed_releases(tmp_path, 5, sealed.signer(tmp_path / "key"), past=2)
    for folder in again:
        name = f"{folder.name}/manifest.json"
        assert (tmp_path / name).read_bytes() == (made[0] / name).read_bytes()
    (unsigned,) = sealed.sealed_releases(tmp_path / "unsigned", 1)
    seal = read_seal((unsigned / "manifest.json").read_bytes())
    assert seal is not None
    assert (seal.before, seal.size, seal.key, seal.signature) == (None, 0, "", "")


def test_the_digest_of_a_verdict_is_that_of_its_lines():
    """Other programs can compute it from the tables."""
    params = ktsafe.PrivacyParams(k=2)
    counts = np.array([2, 2]), np.array([0, 1])
    lines = b"a,2,0,0\nb,2,1,0\n"
    verdict = Verdict(params, 2, 0, *counts)
    assert verdict.digest(["a", "b"]) == hashlib.sha256(lines).hexdigest()


def test_what_is_signed_can_be_made_without_this_program(releases):
    """It is the file with the digits of the signature left out."""
    manifest = (releases[4] / "manifest.json").read_bytes()
    digits = json.loads(manifest)["seal"]["signature"]
    assert signed_bytes(manifest, digits) == manifest.replace(digits.encode(), b"")


@pytest.mark.parametrize(
    "broken",
    [
        {"before": "x"},
        {"before": None},
        {"log": {"size": True, "root": "0" * 64}},
        {"log": {"size": -1, "root": "0" * 64}},
        {"log": {"size": 1}},
        {"key": "0" * 64},
        {"signature": "0" * 128},
        {"key": 5},
    ],
)
def test_a_seal_that_is_none_is_refused(broken):
    """What has not the form of a seal is no seal, and not an unsigned one."""
    sound = {"before": "0" * 64, "log": {"size": 1, "root": "0" * 64}, "key": "", "signature": ""}
    assert read_seal(json.dumps({"seal": sound}).encode()) is not None
    with pytest.raises(ValueError, match="seal"):
        read_seal(json.dumps({"seal": sound | broken}).encode())


def test_readers_are_told(made, releases, tmp_path):
    """`ktsafe.read` takes a key, says what it found, and refuses what is not as published."""
    key = made[1]
    assert [one.signature for one in ktsafe.read(made[0])] == ["unsigned"] * 2 + ["not checked"] * 3
    read = ktsafe.read(made[0].joinpath(releases[4].name), key=key)
    assert read.signature == "valid"
    other = sealed.key_files(tmp_path, 2)[1]
    assert [one.signature for one in ktsafe.read(made[0], key=key)][1:3] == ["vouched for", "valid"]
    shutil.rmtree(releases[0])
    assert len(ktsafe.read(releases[1].parent, key=key)) == 4
    with pytest.raises(NotARelease, match="not signed"):
        ktsafe.read(releases[1], key=key)
    with pytest.raises(NotARelease, match="another key"):
        ktsafe.read(releases[4], key=other)
    for gone, match in ((3, "missing"), (2, "not signed")):
        shutil.rmtree(releases[gone])
        with pytest.raises(NotARelease, match=match):
            ktsafe.read(releases[1].parent, key=key)


def test_a_withdrawn_release_is_refused_with_the_reason(releases):
    """Alone it is refused; among others it is left out and told; audits read it."""
    (releases[2] / "withdrawn.json").write_text(json.dumps({"why": "A wrong column."}))
    with pytest.raises(ktsafe.reader.Withdrawn, match=r"A wrong column\."):
        ktsafe.read(releases[2])
    with pytest.warns(UserWarning, match=r"000003.*A wrong column\."):
        assert len(ktsafe.read(releases[2].parent)) == 4
    assert len(ktsafe.read(releases[2].parent, withdrawn=True)) == 5
    (releases[2] / "withdrawn.json").write_text("[")
    with pytest.raises(ktsafe.reader.Withdrawn, match="cannot be read"):
        ktsafe.read(releases[2])


def test_what_is_no_key_is_refused(tmp_path):
    """A private key, another kind of key, or no key at all."""
    for data in (b"", sealed.key_files(tmp_path)[0].read_bytes()):
        with pytest.raises(ktsafe.errors.InvalidParams, match="public key"):
            public_key(data)
    assert len(public_key(sealed.key_files(Path(tmp_path))[1].read_bytes())) == 32
