"""PyTorch's scaled_dot_product_attention, heads first as it wants its arrays."""
import contextlib

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from ways import Way

LARGEST_MATRIX = 1 << 24  # scores; beyond, what stores them all is never the faster one


class Peer:
    name = "torch"
    version = torch.__version__

    def ways(self, problem, threads):
        torch.set_num_threads(threads)
        case = problem.case
        q, k, v = (self.tensor(x, case.dtype) for x in (problem.q, problem.k, problem.v))
        bias = None if problem.bias is None else torch.from_numpy(problem.bias)
        grouped = case.H_kv != case.H

        def way(label, backend, q, k, v, enable_gqa=False):
            return label, lambda: self.way(label, backend, problem.q.shape, (q, k, v), dict(
                attn_mask=bias, is_causal=case.causal, enable_gqa=enable_gqa))

        ways = [way("flash", SDPBackend.FLASH_ATTENTION, q, k, v, grouped)]
        if grouped:  # the groups as a batch, whose heads repeat by a stride of 0
            wide = q.view(-1, case.H // case.H_kv, case.n_q, case.d)
            repeated = (x.view(-1, 1, case.n_k, case.d).expand(-1, wide.shape[1], -1, -1)
                        for x in (k, v))
            ways.append(way("flash, stride 0", SDPBackend.FLASH_ATTENTION, wide, *repeated))
        if case.B * case.H * case.n_q * case.n_k <= LARGEST_MATRIX:
            ways.append(way("math", SDPBackend.MATH, q, k, v, grouped))
        return ways

    @staticmethod
    def tensor(x, dtype):
        x = torch.from_numpy(x)
        return x.view(torch.bfloat16) if dtype == "bfloat16" else x

    @staticmethod
    def way(label, backend, shape, inputs, options):
        found = [None]

        def call():
            found[0] = scaled_dot_product_attention(*inputs, **options)

        @contextlib.contextmanager
        def within():
            with torch.inference_mode(), sdpa_kernel(backend):
                yield

        return Way(label, call, lambda: found[0].float().view(shape).numpy(), within)
