# SPDX-License-Identifier: Apache-2.0
"""Norms and their gradients by cuDNN, whose frontend (the package nvidia-cudnn-frontend) makes a graph of one operation
and plans it; the library is torch's. What it refuses, it refuses while the arm is made."""
import functools

import torch

from .cells import SCALARS


@functools.cache
def _handle(cudnn):
    return cudnn.create_handle()


class Operation:
    """A planned graph of one operation. Tensors are matrices: those that are given by the names of its parameters,
    those that it makes in order."""

    def __init__(self, name, given, made, **settings):
        import cudnn
        self.cudnn, self.handle = cudnn, _handle(cudnn)
        types = {torch.float32: cudnn.data_type.FLOAT, torch.float16: cudnn.data_type.HALF,
                 torch.bfloat16: cudnn.data_type.BFLOAT16}
        graph = self.graph = cudnn.pygraph(handle=self.handle, intermediate_data_type=cudnn.data_type.FLOAT,
                                           compute_data_type=cudnn.data_type.FLOAT)
        self.given = {}
        for port, tensor in given.items():
            rows, cols = tensor.shape
            self.given[port] = graph.tensor(name=port, dim=[rows, cols, 1, 1], stride=[cols, 1, cols, cols],
                                            data_type=types[tensor.dtype], is_pass_by_value=not tensor.is_cuda)
        # Outputs that are not asked for are None.
        outputs = [each for each in getattr(graph, name)(name=name, **self.given, **settings) if each is not None]
        self.made = outputs[:len(made)]
        for output, dtype in zip(self.made, made):
            output.set_output(True).set_data_type(types[dtype])
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        graph.check_support()
        graph.build_plans()
        self.workspace = torch.empty(max(1, graph.get_workspace_size()), dtype=torch.uint8, device="cuda")

    def __call__(self, given, made):
        self.cudnn.set_stream(handle=self.handle, stream=torch.cuda.current_stream().cuda_stream)
        tensors = {self.given[port]: tensor for port, tensor in given.items()}
        self.graph.execute({**tensors, **dict(zip(self.made, made))}, self.workspace, handle=self.handle)


def _vectors(cell, inputs):
    """Of rmsnorm in the type of x, of layernorm in f32, as its own operations for torch have them."""
    rows = {port: inputs[name].view(1, -1) for port, name in (("scale", "weight"), ("bias", "bias")) if name in inputs}
    return {port: row.float() for port, row in rows.items()} if cell.op.startswith("layernorm") else rows


def _of_gradients(cell, inputs):
    """Beside the gradient and x, what a forward pass keeps of them."""
    wide, kept = inputs["x"].float(), {}
    if cell.op == "layernorm_bwd":
        kept["mean"] = wide.mean(-1, keepdim=True)
        wide = wide - kept["mean"]
    kept["inv_variance"] = torch.rsqrt(wide.square().mean(-1, keepdim=True) + SCALARS["eps"])
    return {"grad": inputs["dy"], "input": inputs["x"], **_vectors(cell, inputs), **kept}


def _backward(cell, sets):
    given = [_of_gradients(cell, inputs) for inputs in sets.inputs]
    x, scale = given[0]["input"], given[0]["scale"]
    sums = 2 if cell.op == "layernorm_bwd" else 1
    settings = {"has_dbias": False} if cell.op == "rmsnorm_bwd" else {}
    operation = Operation(cell.op.replace("_bwd", "_backward"), given[0], [x.dtype] + [scale.dtype] * sums, **settings)

    def launch(i):
        dx = torch.empty_like(x)
        added = [torch.empty_like(scale) for _ in range(sums)]
        operation(given[i], [dx, *added])
        return (dx, *(each.view(-1) for each in added))
    return launch


def _forward(cell, sets):
    import cudnn
    epsilon = torch.full((1, 1), SCALARS["eps"], dtype=torch.float32)  # of the host: passed by value
    given = [{"input": inputs["x"], **_vectors(cell, inputs), "epsilon": epsilon} for inputs in sets.inputs]
    x = given[0]["input"]
    operation = Operation(cell.op, given[0], [x.dtype], norm_forward_phase=cudnn.norm_forward_phase.INFERENCE)

    def launch(i):
        y = torch.empty_like(x)
        operation(given[i], [y])
        return y
    return launch


def make(cell, sets):
    return _backward(cell, sets) if cell.op.endswith("_bwd") else _forward(cell, sets)
