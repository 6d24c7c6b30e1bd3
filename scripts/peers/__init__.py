# SPDX-License-Identifier: Apache-2.0
"""The comparison with other implementations: what scripts/compare_peers.py is made of.

cells        which op on which shape; what its arguments are, how many bytes it moves       no torch
gemm_cells   the same of matrix products, in sets                                           no torch
gemm_drawn   shapes of matrix products, drawn by a seed                                     no torch
fused_cells  the same of ops that are a product and more                                    no torch
statistics   medians, intervals, geometric means                                            no torch
philox       the random numbers of dropout, for NumPy and torch                             no torch
library      the launch library's C functions                                               no torch
registry     the peers, and which has which op                                              no torch
verdicts     the fastest peer of a cell, faults, goals, the form of tables                  no torch
report       tables and goals from the results of cells                                     no torch
gemm_report  the same of matrix products, by regime                                         no torch
fused_report the same of ops that are a product and more                                    no torch
probe        SM clock and power, through NVML                                               no torch
torch_ops, gemm_torch, fused_torch    the ops in torch, eager and in float64, and their inputs
triton_rows, triton_flat, triton_gemm, triton_peer    the ops in Triton, as its tutorials write them, and their configs
decode_peers FlashInfer, FlashAttention 4 and torch, as compare_decode.py times them
arms         everything that is timed against each other for a cell
timing       graphs over rotating inputs, replayed alternately
regimes      graphs replayed alternately with rests, or under steady load
accuracy, gemm_accuracy    errors against float64
measure, gemm_measure, fused_measure      a cell from its inputs to its result
warm         slow first compiles, done in parallel before anything is timed
"""
