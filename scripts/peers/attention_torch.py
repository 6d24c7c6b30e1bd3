# SPDX-License-Identifier: Apache-2.0
"""`attention` by others, as functions of q, k and v [b, s, heads, columns]: torch's backends, FlashAttention 4 where it
is installed; and in float64."""
import torch
import torch.nn.functional as F


def _through_torch(cell, backend):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def run(q, k, v):
        with sdpa_kernel(getattr(SDPBackend, backend)):
            o = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                               is_causal=cell.causal, scale=cell.scale, enable_gqa=cell.hq != cell.hkv)
        return o.transpose(1, 2)
    return run


def cudnn(cell):
    return _through_torch(cell, "CUDNN_ATTENTION")


def flash2(cell):
    return _through_torch(cell, "FLASH_ATTENTION")


def flash4(cell):
    """Fails where the package is not installed: an arm that is asked for says why it is not there."""
    from flash_attn.cute import flash_attn_func

    def run(q, k, v):
        o = flash_attn_func(q, k, v, softmax_scale=cell.scale, causal=cell.causal)
        return o[0] if isinstance(o, tuple) else o
    return run


def exact(cell, inputs, tokens, batch, head):
    """In float64: o of one head, for the queries `tokens` (a tensor of indices)."""
    key_head = head // (cell.hq // cell.hkv)
    q, k, v = (inputs[name][batch, :, at].double() for name, at in (("q", head), ("k", key_head), ("v", key_head)))
    scores = cell.scale * (q[tokens] @ k.T)
    if cell.causal:
        keys = torch.arange(cell.s, device=scores.device)
        scores = scores.masked_fill(keys[None, :] > tokens[:, None], float("-inf"))
    return torch.softmax(scores, -1) @ v
