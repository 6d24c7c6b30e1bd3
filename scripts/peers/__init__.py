# SPDX-License-Identifier: Apache-2.0
"""The comparison with other implementations: what scripts/compare_peers.py is made of, and scripts that are akin.

Without torch:
cells, gemm_cells, attention_cells, attention_bwd_cells, fused_cells    which op on which shape; what its arguments are,
             how many bytes it moves
gemm_drawn   shapes of matrix products, drawn by a seed
served_cells what scripts share that time cells served from a cache
statistics   medians, intervals, geometric means
philox       the random numbers of dropout, for NumPy and torch
library      the launch library's C functions
registry     the peers, and which has which op
verdicts     the fastest peer of a cell, faults, goals, the form of tables
report, gemm_report, attention_report, fused_report    tables and goals from the results of cells
record       what a page of docs/benchmarks keeps of results
probe        which GPUs there are; SM clock and power, through NVML
warm         slow first compiles, done in parallel before anything is timed

With it:
torch_ops, gemm_torch, attention_torch, attention_bwd_torch, fused_torch    the ops in torch, eager and in float64, and
             their inputs
cudnn_norms  norms and their gradients by cuDNN's frontend
backward     the gradients of row and elementwise ops by others, and in float64
triton_rows, triton_flat, triton_gemm, triton_attention, triton_peer    the ops in Triton, as its tutorials write them,
             and their configs
decode_peers FlashInfer, FlashAttention 4 and torch, as compare_decode.py times them
arms         everything that is timed against each other for a cell
timing       graphs over rotating inputs, replayed alternately
regimes      graphs replayed alternately with rests, or under steady load
accuracy, gemm_accuracy    errors against float64
measure, backward_measure, gemm_measure, attention_measure, fused_measure    a cell from its inputs to its result
"""
