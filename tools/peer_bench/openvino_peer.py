"""OpenVINO's ScaledDotProductAttention: a model of one operator, every array bound where it
stands."""
import numpy as np
import openvino
from openvino import opset13

from problem import load
from ways import Unsupported, Way

TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def shared(x, element):
    return openvino.Tensor(x, list(x.shape), element)


class Peer:
    name = "openvino"
    version = openvino.__version__

    def __init__(self):
        self.core = openvino.Core()

    def ways(self, problem, threads):
        case = problem.case
        if case.H_kv != case.H:
            raise Unsupported("its operator wants as many key heads as query heads")
        return [("ScaledDotProductAttention", lambda: self.way(problem, threads))]

    def way(self, problem, threads):
        out = np.zeros_like(problem.q)
        arrays = [x for x in (problem.q, problem.k, problem.v, problem.bias) if x is not None]
        element = getattr(openvino.Type, TYPES[problem.case.dtype])
        inputs = [opset13.parameter(x.shape, element) for x in arrays]
        node = opset13.scaled_dot_product_attention(*inputs, causal=problem.case.causal)
        model = openvino.Model([node], inputs, "attention")
        request = self.core.compile_model(model, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32",
            # Else the thread that calls us all would be tied to a core after its turn.
            "ENABLE_CPU_PINNING": False}).create_infer_request()
        for i, x in enumerate(arrays):
            request.set_input_tensor(i, shared(x, element))
        request.set_output_tensor(0, shared(out, element))

        def call():
            request.infer(share_outputs=True)

        call.keep = (arrays, request)
        return Way("ScaledDotProductAttention", call, lambda: load(out, problem.case.dtype))
