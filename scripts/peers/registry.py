# SPDX-License-Identifier: Apache-2.0
"""Which peers there are, and which of them has the op of a cell. A peer that has it is expected in the result: where it
is not, the cell has no verdict (verdicts.py)."""
import dataclasses
import typing

from .cells import BACKWARD, ELEMENT_BYTES
from .fused_cells import DIMS as FUSED

CUBLASLT_ACTS = ("gelu", "relu")
QUACK_ACTS = ("none", "gelu", "relu")
LIGER_ROWS = ("softmax", "rmsnorm", "layernorm", "softmax_bwd", "rmsnorm_bwd", "layernorm_bwd", "swiglu_bwd")
LIGER_WIDEST = 65536  # columns of a row that Liger takes as one block


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str  # of --peers, and in results
    title: str  # in tables
    has: typing.Callable  # of a cell: whether it has its op, with these attributes and this type


def _is_gemm(cell):
    return cell.op == "gemm"


def _is_attention(cell):
    return cell.op in ("attention", "attention_bwd")


def _torch_has(cell):
    """Attention is timed by its backends, each by itself."""
    return not _is_attention(cell)


def _cublaslt_has(cell):
    """Its epilogues; without one it is what eager calls."""
    attributes = dict(cell.attributes)
    return (_is_gemm(cell) and attributes["bias"] == "yes" and attributes["residual"] == "no"
            and attributes["act"] in CUBLASLT_ACTS)


def _stores_sum(cell):
    """Their fused norms write x + residual, too; without that they would be timed for work that nobody asked for."""
    return cell.op == "add_rmsnorm" and ("store", "yes") in cell.attributes


def _adds_to_layernorm(cell):
    """Beside its gradient that of the sum, which only theirs of rmsnorm takes."""
    return cell.op == "layernorm_bwd" and ("add", "yes") in cell.attributes


def _cudnn_has(cell):
    norms = ("rmsnorm", "layernorm", "rmsnorm_bwd", "layernorm_bwd")
    return _is_attention(cell) or (cell.op in norms and ("add", "yes") not in cell.attributes)


def _is_plain_rope(cell):
    return cell.op == "rope" and ("norm", "no") in cell.attributes


def _liger_has(cell):
    if _adds_to_layernorm(cell) or (cell.op == "swiglu_bwd" and ("layout", "split") not in cell.attributes):
        return False
    if cell.op in ("cross_entropy", "embedding", "embedding_bwd"):
        return True
    if cell.op == "rope":
        return _is_plain_rope(cell) and ("style", "halved") in cell.attributes
    by_rows = (cell.op in LIGER_ROWS or _stores_sum(cell)
               or (cell.op == "swiglu" and ("layout", "split") in cell.attributes))
    return by_rows and cell.cols <= LIGER_WIDEST


def _is_fused(cell):
    """A product and more."""
    return cell.op in FUSED


def _has_pitches_for_quack(cell):
    """Whether from row to row of every matrix of a product there are whole vectors of 16 bytes: QuACK refuses others,
    and does not look at the pitch of a single row."""
    return all(tensor.shape[0] == 1 or tensor.shape[1] * ELEMENT_BYTES[cell.dtype] % 16 == 0
               for tensor in cell.arguments() if tensor.kind == "matrix")


def _quack_has(cell):
    if cell.op == "gemm_gated":
        # Of its output the row itself must be vectors, be it the only one.
        return cell.dims[1] * ELEMENT_BYTES[cell.dtype] % 16 == 0 and _has_pitches_for_quack(cell)
    if cell.op in ("gemm_add_rmsnorm", "gemm_add_layernorm"):
        return cell["bias"] == "no" and _has_pitches_for_quack(cell)
    if _is_fused(cell):
        return (cell.op == "mlp" and (cell["gated"] == "yes" or cell["act"] in QUACK_ACTS)
                and _has_pitches_for_quack(cell))
    if cell.op in BACKWARD:
        return (cell.op in ("softmax_bwd", "rmsnorm_bwd", "layernorm_bwd") and not _adds_to_layernorm(cell)) or (
            _is_plain_rope(cell)) or (cell.op == "cross_entropy" and cell.cols % 8 == 0)
    if not _is_gemm(cell):
        return cell.op in ("softmax", "rmsnorm", "layernorm") or _stores_sum(cell)
    attributes = dict(cell.attributes)
    # It adds the residual before the activation.
    return (cell.dtype != "f32" and attributes["act"] in QUACK_ACTS
            and (attributes["residual"] == "no" or attributes["act"] == "none") and _has_pitches_for_quack(cell))


def _triton_has(cell):
    if cell.op in ("gemm_gated", "mlp"):
        plain = {"bias": "no", "store": "no", "weights": "packed"}
        return all(plain.get(name, value) == value for name, value in cell.attributes)
    # Of the way back torch.compile makes Triton kernels; there are no others here.
    return cell.op not in {*BACKWARD, "attention_bwd"}


PEERS = {peer.name: peer for peer in (
    Peer("eager", "eager", _torch_has),
    Peer("cublaslt", "cuBLASLt", _cublaslt_has),
    Peer("compile", "compile", _torch_has),
    Peer("triton", "Triton", _triton_has),
    Peer("liger", "Liger", _liger_has),
    Peer("quack", "QuACK", _quack_has),
    Peer("cudnn", "cuDNN", _cudnn_has),
    Peer("flash2", "FlashAttention 2", lambda cell: _is_attention(cell) and cell.d == cell.dv),
    Peer("unfused", "unfused", _is_fused),
    Peer("flash4", "FlashAttention 4", _is_attention),
)}


def expected(cell, asked):
    """Of the peers asked for, those that have the op, in the order in which they are made."""
    return [name for name, peer in PEERS.items() if name in asked and peer.has(cell)]


def columns(results):
    """The peers that a table of these results has a column for."""
    return [name for name in PEERS if any(name in result["arms"] or name in result.get("expected", [])
                                          for result in results)]
