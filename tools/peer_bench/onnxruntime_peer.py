"""ONNX Runtime's operators: models of one node, every array bound where it stands."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from problem import load
from ways import Unsupported, Way

ELEMENTS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
            np.dtype(np.int32): TensorProto.INT32}
MICROSOFT = "com.microsoft"


class Peer:
    name = "onnxruntime"
    version = onnxruntime.__version__

    def ways(self, problem, threads):
        case = problem.case
        if case.dtype == "bfloat16":
            raise Unsupported("its CPU operators have no bfloat16")
        ways = [("Attention", lambda: attention(problem, threads))]
        if case.H_kv == case.H:
            ways.append(("MultiHeadAttention", lambda: multi_head(problem, threads)))
        elif case.decode:  # causal, so of use here for a last token only
            ways.append(("GroupQueryAttention", lambda: group_query(problem, threads)))
        return ways


def attention(problem, threads):
    """ai.onnx Attention: heads first, as ours."""
    out = np.zeros_like(problem.q)
    arrays = {"q": problem.q, "k": problem.k, "v": problem.v}
    if problem.bias is not None:
        arrays["mask"] = problem.bias
    node = helper.make_node("Attention", list(arrays), ["out"], is_causal=int(problem.case.causal))
    return bound("Attention", node, arrays, {"out": out}, threads, lambda: out)


def multi_head(problem, threads):
    """com.microsoft MultiHeadAttention: q and out positions first, k and v heads first (its layout
    of a cache, which saves it a transposition)."""
    case = problem.case
    q = positions_first(problem.q)
    out = np.zeros_like(q)
    arrays = {"q": q, "k": problem.k, "v": problem.v}
    names = list(arrays)
    if problem.bias is not None:
        arrays["bias"] = problem.bias
        names += ["", "", "bias"]
    node = helper.make_node("MultiHeadAttention", names, ["out"], domain=MICROSOFT,
                            num_heads=case.H, unidirectional=int(case.causal))
    return bound("MultiHeadAttention", node, arrays, {"out": out}, threads,
                 lambda: heads_first(out, case))


def group_query(problem, threads):
    """com.microsoft GroupQueryAttention: the cache is k and v, shared by past and present, and the
    last key, which every call writes again, is the new one."""
    case = problem.case
    q = positions_first(problem.q)
    out = np.zeros_like(q)
    arrays = {"q": q, "key": positions_first(problem.k[:, :, -1:]),
              "value": positions_first(problem.v[:, :, -1:]), "k": problem.k, "v": problem.v,
              "last": np.full(case.B, case.n_k - 1, np.int32), "total": np.int32([case.n_k])}
    node = helper.make_node("GroupQueryAttention", list(arrays), ["out", "k_present", "v_present"],
                            domain=MICROSOFT, num_heads=case.H, kv_num_heads=case.H_kv)
    outputs = {"out": out, "k_present": problem.k, "v_present": problem.v}
    return bound("GroupQueryAttention", node, arrays, outputs, threads,
                 lambda: heads_first(out, case))


def positions_first(x):
    """[B, H, n, d] -> [B, n, H * d]"""
    B, H, n, d = x.shape
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(B, n, H * d)


def heads_first(x, case):
    return x.reshape(case.B, case.n_q, case.H, case.d).transpose(0, 2, 1, 3)


def bound(label, node, arrays, outputs, threads, result):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Its threads spin while it runs, but not on into the turn of another engine.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(model(node, arrays, outputs), options,
                                           providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, x in arrays.items():
        binding.bind_input(name, "cpu", 0, x.dtype.type, x.shape, x.ctypes.data)
    for name, x in outputs.items():
        binding.bind_output(name, "cpu", 0, x.dtype.type, x.shape, x.ctypes.data)

    def call():
        session.run_with_iobinding(binding)

    call.keep = (arrays, outputs)
    dtype = outputs["out"].dtype.name
    return Way(label, call, lambda: load(result(), dtype))


def model(node, arrays, outputs):
    def infos(named):
        return [helper.make_tensor_value_info(name, ELEMENTS[x.dtype], x.shape)
                for name, x in named.items()]

    graph = helper.make_graph([node], "attention", infos(arrays), infos(outputs))
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=11).SerializeToString()
