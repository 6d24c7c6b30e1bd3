# SPDX-License-Identifier: Apache-2.0
"""`attention_bwd` by others: torch's backends, and FlashAttention 4 where it is installed. Each has o and lse of its
own forward pass, made before anything is timed. And the gradients in float64."""
import torch

aten = torch.ops.aten


def _heads_first(tensor):
    return tensor.transpose(1, 2)


def _flash2_forward(cell, q, k, v):
    return aten._scaled_dot_product_flash_attention(*map(_heads_first, (q, k, v)), 0.0, cell.causal, False,
                                                    scale=cell.scale)


def fill(cell, inputs):
    """o and lse of these q, k and v."""
    o, lse = _flash2_forward(cell, *(inputs[name] for name in "qkv"))[:2]
    inputs["o"].copy_(_heads_first(o))
    inputs["lse"].copy_(lse)


def _launches(cell, sets, forward, backward):
    """Of a backend of torch."""
    kept = [forward(cell, *(inputs[name] for name in "qkv")) for inputs in sets.inputs]

    def launch(i):
        tensors = [_heads_first(sets.inputs[i][name]) for name in ("do", "q", "k", "v")]
        return tuple(map(_heads_first, backward(cell, tensors, kept[i])))
    return launch


def flash2(cell, sets):
    def backward(cell, tensors, kept):
        o, lse, *lengths, state, unused, _ = kept
        return aten._scaled_dot_product_flash_attention_backward(*tensors, o, lse, *lengths, 0.0, cell.causal, state,
                                                                 unused, scale=cell.scale)
    return _launches(cell, sets, _flash2_forward, backward)


def cudnn(cell, sets):
    def forward(cell, q, k, v):
        return aten._scaled_dot_product_cudnn_attention(*map(_heads_first, (q, k, v)), None, True, 0.0, cell.causal,
                                                        False, scale=cell.scale)

    def backward(cell, tensors, kept):
        o, lse, *lengths, seed, offset, _ = kept
        return aten._scaled_dot_product_cudnn_attention_backward(*tensors, o, lse, seed, offset, None, *lengths, 0.0,
                                                                 cell.causal, scale=cell.scale)
    return _launches(cell, sets, forward, backward)


def flash4(cell, sets):
    """Fails where the package is not installed: an arm that is asked for says why it is not there."""
    from flash_attn.cute import interface
    said = {"softmax_scale": cell.scale, "causal": cell.causal}
    kept = [interface._flash_attn_fwd(*(inputs[name] for name in "qkv"), return_lse=True, **said)[:2]
            for inputs in sets.inputs]

    def launch(i):
        inputs = sets.inputs[i]
        return interface._flash_attn_bwd(inputs["q"], inputs["k"], inputs["v"], kept[i][0], inputs["do"], kept[i][1],
                                         **said)[:3]
    return launch


def exact(cell, inputs, batch, head):
    """In float64: dq of one head, and what it adds to dk and dv of its keys and values."""
    key_head = head // (cell.hq // cell.hkv)
    at = {"q": head, "k": key_head, "v": key_head, "do": head}
    q, k, v, do = (inputs[name][batch, :, at[name]].double() for name in at)
    scores = cell.scale * (q @ k.T)
    if cell.causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
    p = torch.softmax(scores, -1)
    del scores
    dp = do @ v.T
    ds = p * (dp - (p * dp).sum(-1, keepdim=True)) * cell.scale
    return {"dq": ds @ k, "dk": ds.T @ q, "dv": p.T @ do}
