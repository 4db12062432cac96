"""The page of an Alignment: the command's own, to the byte, and the engine's numbers in it."""

import base64
import json
import os
import re
import subprocess

import numpy as np
import pytest
import reference

import lookback

COMMAND = os.environ.get("LOOKBACK_TEST_COMMAND")


@pytest.fixture
def written(tmp_path):
    """The page of an Alignment, as text."""

    def write(alignment, **options):
        alignment.html(tmp_path / "python.html", **options)
        return (tmp_path / "python.html").read_text(encoding="utf-8")

    return write


def block(page, name):
    return re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', page, re.S)[1]


def numbers(page, name, dtype):
    return np.frombuffer(base64.b64decode(block(page, name)), dtype)


CALLS = {
    "plain": ((2, 3, 9, 9), {}, []),
    "causal": (
        (2, 3, 9, 9),
        dict(causal=True, prefix=2),
        ["--causal", "top-left", "--prefix", "2"],
    ),
    "more keys": ((1, 4, 3, 8), dict(causal="bottom-right"), ["--causal", "bottom-right"]),
    "no position": ((1, 4, 3, 8), {}, []),
    "terms": (
        (1, 2, 9, 9),
        dict(temperature=0.5, softcap=2.0, sinks=[0.5, -np.inf], window=(3, None)),
        "--temperature 0.5 --softcap 2 --sinks 0.5,-inf --window 3,".split(),
    ),
    "long": ((1, 2, 1100, 1100), dict(temperature=2.0), ["--temperature", "2"]),
    "long, causal": (
        (1, 2, 700, 1300),
        dict(causal="bottom-right"),
        ["--causal", "bottom-right"],
    ),
}


@pytest.mark.skipif(COMMAND is None, reason="LOOKBACK_TEST_COMMAND names no command")
@pytest.mark.parametrize("name", CALLS)
def test_the_commands_page(qkv, tmp_path, written, name):
    (B, H, n_q, n_k), options, arguments = CALLS[name]
    q, k, _ = qkv(B, H, n_q, n_k)
    words = [f"<w{i}>" for i in range(n_k)]
    for path, array in (("q.npy", q), ("k.npy", k)):
        np.save(tmp_path / path, array)
    (tmp_path / "words.json").write_text(json.dumps(words))
    files = "--q q.npy --k k.npy --tokens words.json --html command.html".split()
    command = [COMMAND, "align", *files, *arguments]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    page = written(lookback.align(q, k, **options), tokens=words)
    # Not assert page == ...: a difference in a megabyte on one line takes pytest minutes to show.
    same = page == (tmp_path / "command.html").read_text(encoding="utf-8")
    assert same


def test_all_scores_of_a_short_text(qkv, written):
    q, k, _ = qkv(2, 4, 7, 7)
    sinks = [[0.0, 1.0, -np.inf, 2.0], [3.0] * 4]
    view = lookback.align(q, k, top=1, causal=True, sinks=sinks, softcap=1.0, heads="mean")
    page = written(view, text="a </script> & b", tokens=list("abcdefg"))
    meta = json.loads(block(page, "meta"))
    assert meta["layers"] == 2 and meta["heads"] == 4 and meta["rowWords"] == list("abcdefg")
    assert meta["causal"] and meta["offset"] == 0 and meta["text"] == "a </script> & b"
    assert meta["sinks"] == [0.0, 1.0, None, 2.0, 3.0, 3.0, 3.0, 3.0]
    scores = numbers(page, "scores", np.float32).reshape(2, 4, 7, 7)
    np.testing.assert_allclose(scores, reference.scores(q, k, softcap=1.0)[2], atol=1e-6)
    assert page.startswith("<!doctype html>") and "https:" not in page and "src=" not in page


def test_what_hides_is_in_the_scores(qkv, written):
    q, k, _ = qkv(2, 1, 5, 8, dtype=np.float64)
    mask = np.arange(8) != 3
    page = written(lookback.align(q[:1, 0], k[:1, 0], mask=mask, causal=2))
    meta = json.loads(block(page, "meta"))
    assert meta["offset"] == 2 and meta["keyWords"][3] == "3" and not meta["named"]
    scores = numbers(page, "scores", np.float64).reshape(5, 8)
    assert np.isneginf(scores[:, 3]).all() and np.isfinite(scores[:, mask]).all()
    # Sequences at positions of their own have no switch; they stay causal.
    page = written(lookback.align(q, k, lengths=[8, 6], causal="bottom-right"))
    assert "offset" not in json.loads(block(page, "meta"))
    want = reference.scores(q, k, lengths=[8, 6], causal="bottom-right")[2]
    np.testing.assert_allclose(numbers(page, "scores", np.float64).reshape(want.shape), want)


def test_errors(qkv, written):
    q, k, _ = qkv(1, 4, 5, 8)
    with pytest.raises(ValueError, match="tokens has 7 words for 8 keys"):
        written(lookback.align(q, k), tokens=["a"] * 7)
    with pytest.raises(ValueError, match="nothing to show"):
        written(lookback.align(q[:, :, :0], k))
    tokens = k[0].swapaxes(0, 1)
    with pytest.raises(ValueError, match="packed sequences have no page"):
        written(lookback.align(tokens, tokens, q_bounds=[0, 8]))


def test_tensors(qkv, written):
    torch = pytest.importorskip("torch")
    arrays = qkv(1, 2, 6, 6)[:2]
    tensors = [torch.from_numpy(a) for a in arrays]
    assert written(lookback.align(*arrays, causal=torch.tensor(True))) == written(
        lookback.align(*tensors, causal=True)
    )
    written(lookback.align(*(t.bfloat16() for t in tensors), sinks=torch.zeros(2).bfloat16()))
