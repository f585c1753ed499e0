"""Stage 7 - torch.functional: functions of torch under their older place."""

import minitorch.torch as _torch
from minitorch.torch.absent import refuse_absent as _refuse_absent

F = _torch.nn.functional

_NAMES = """
    atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum lu meshgrid norm
    split tensordot unique unique_consecutive unravel_index"""
_FOUND = {name: getattr(_torch, name) for name in _NAMES.split() if hasattr(_torch, name)}
globals().update(_FOUND)

__getattr__ = _refuse_absent("torch.functional", _FOUND)
