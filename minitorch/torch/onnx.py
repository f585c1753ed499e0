"""Stage 7 - torch.onnx: nothing but the reason; programs that export only when they are asked to can import it."""

from __future__ import annotations

from minitorch.torch.absent import refuse_absent

__all__: list[str] = []

_REASON = "no graph that could be exported; load the state_dict() into the same network in PyTorch, and export it there"

__getattr__ = refuse_absent("torch.onnx", (), reasons=dict.fromkeys(("export", "dynamo_export", "is_in_onnx_export"), _REASON))
