# SPDX-License-Identifier: Apache-2.0
"""The forms of every built-in op, by the op's name and the values of the attributes that decide its outputs."""
from . import _definitions, _torch_gradients, _torch_op

FORMS = {definition["name"]: _torch_op.forms_of(definition) for definition in _definitions.load()}
_torch_gradients.register(FORMS)
