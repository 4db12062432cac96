import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def rng():
    return np.random.default_rng(20240229)


@pytest.fixture
def qkv(rng):
    """make(B, H, n_q, n_k, d): random q, k, v."""

    def make(B=2, H=4, n_q=7, n_k=7, d=16, d_v=None, H_kv=None, dtype=np.float32):
        def array(*shape):
            return rng.standard_normal(shape).astype(dtype)

        H_kv = H if H_kv is None else H_kv
        return array(B, H, n_q, d), array(B, H_kv, n_k, d), array(B, H_kv, n_k, d_v or d)

    return make
