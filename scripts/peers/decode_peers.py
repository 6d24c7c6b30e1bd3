# SPDX-License-Identifier: Apache-2.0
"""Decoding by others: torch's backends, FlashAttention 4 and FlashInfer where they are installed. Each function makes a
launch that takes the number of a set of tensors and returns o [b, 1, heads, columns]. Each fails where the package is
not installed or its kernel does not take the cell."""
import dataclasses
import math

import torch
import torch.nn.functional as F

from . import timing

DENSE_PAGE = 128  # keys in one piece are pages of so many tokens for FlashInfer
FLOAT_BYTES = 256 << 20  # FlashInfer asks for 128 MiB; XQA keeps semaphores in the first 8 MiB


@dataclasses.dataclass(frozen=True)
class Tensors:
    """Lists with a tensor of each set. q is [b, 1, heads, columns]. k and v are [b, tokens, heads, columns], or pools
    [pages, page, heads, columns] with tables [b, pages of a sequence]."""
    q: list
    k: list
    v: list
    lengths: list  # of the sequences
    on_device: torch.Tensor  # the same
    scale: float
    tables: list = None

    @property
    def whole(self):
        """Whether each sequence fills a tensor in one piece."""
        return self.tables is None and set(self.lengths) == {self.k[0].shape[1]}


def through_torch(backend, of):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def launch(i):
        q, k, v = (each[i].transpose(1, 2) for each in (of.q, of.k, of.v))
        with sdpa_kernel(getattr(SDPBackend, backend)):
            o = F.scaled_dot_product_attention(q, k, v, scale=of.scale, enable_gqa=q.shape[1] != k.shape[1])
        return o.transpose(1, 2)
    return launch


def flash4(of):
    from flash_attn.cute import flash_attn_func, flash_attn_varlen_func

    def launch(i):
        if of.whole:
            o = flash_attn_func(of.q[i], of.k[i], of.v[i], softmax_scale=of.scale)
        else:
            o = flash_attn_varlen_func(of.q[i], of.k[i], of.v[i], seqused_k=of.on_device, softmax_scale=of.scale,
                                       page_table=of.tables and of.tables[i])
        return o[0] if isinstance(o, tuple) else o
    return launch


def _paged(of):
    """Keys, values, and the tables of the sets. Keys and values in one piece are pages in order, with one table."""
    if of.tables:
        return of.k, of.v, of.tables
    batch, tokens, heads, columns = of.k[0].shape
    k, v = ([each.view(-1, DENSE_PAGE, heads, columns) for each in these] for these in (of.k, of.v))
    pages = batch * tokens // DENSE_PAGE
    return k, v, [torch.arange(pages, dtype=torch.int32, device=k[0].device).view(batch, -1)]


def _wrapper(of, tensor_cores):
    """FlashInfer's wrapper. Its plans are made here, one a table."""
    from flashinfer import BatchDecodeWithPagedKVCacheWrapper
    k, v, tables = _paged(of)
    _, page, hkv, columns = k[0].shape
    batch, _, hq, _ = of.q[0].shape
    counts = [-(-length // page) for length in of.lengths]
    starts = torch.tensor([0, *counts], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    last = torch.tensor([1 + (length - 1) % page for length in of.lengths], dtype=torch.int32)
    workspace = torch.zeros(FLOAT_BYTES, dtype=torch.uint8, device=k[0].device)
    planned = []
    for table in tables:
        indices = torch.cat([row[:count] for row, count in zip(table, counts)])
        one = BatchDecodeWithPagedKVCacheWrapper(
            workspace, "NHD", use_cuda_graph=True, use_tensor_cores=tensor_cores,
            paged_kv_indptr_buffer=starts.to(table.device), paged_kv_indices_buffer=indices.clone(),
            paged_kv_last_page_len_buffer=last.to(table.device))
        one.plan(starts, indices, last, hq, hkv, columns, page, q_data_type=of.q[0].dtype, kv_data_type=k[0].dtype,
                 sm_scale=of.scale)
        planned.append(one)
    o = [torch.full_like(each, math.nan) for each in of.q]

    def launch(i):
        planned[i % len(planned)].run(of.q[i].view(batch, hq, columns), (k[i], v[i]),
                                      out=o[i].view(batch, hq, columns))
        return o[i]
    return launch


def _xqa(of):
    """FlashInfer's kernel of TensorRT-LLM, which takes tables and lengths and needs no plan."""
    from flashinfer.decode import xqa_batch_decode_with_kv_cache
    k, v, tables = _paged(of)
    batch, _, hq, columns = of.q[0].shape
    most = tables[0].shape[1] * k[0].shape[1]
    workspace = torch.zeros(FLOAT_BYTES, dtype=torch.uint8, device=k[0].device)
    o = [torch.full_like(each, math.nan) for each in of.q]

    def launch(i):
        xqa_batch_decode_with_kv_cache(of.q[i].view(batch, hq, columns), (k[i], v[i]), workspace,
                                       tables[i % len(tables)], of.on_device, most, bmm1_scale=of.scale,
                                       out=o[i].view(batch, hq, columns))
        return o[i]
    return launch


FLASHINFER = {"tensor cores": lambda of: _wrapper(of, True), "CUDA cores": lambda of: _wrapper(of, False), "XQA": _xqa}


def flashinfer(of, stream, check):
    """The name of the fastest of FlashInfer's kernels, and its launch. A kernel that fails, or whose output `check`
    raises at, is passed over; if all are, the error says why."""
    launches, failed = {}, []
    for name, make in FLASHINFER.items():
        try:
            launch = make(of)
            # Plans and tables were made on another stream.
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                output = launch(0)
            stream.synchronize()
            check(output)
            timing.prepare(launch, len(of.q), stream, 0.25).free()
        except Exception as error:  # the others may run
            failed.append(f"{name}: {type(error).__name__}: {str(error)[:150]}")
            continue
        launches[name] = launch
    name = timing.fastest(launches, len(of.q), stream)
    if name is None:
        raise RuntimeError("; ".join(failed))
    return name, launches[name]
