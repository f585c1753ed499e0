"""Compiled training steps: kernels recorded once and replayed without Python. This file is the folder's table of contents."""

# Stage 5 - Compilation
from minitorch.compiler import trace as trace, program as program, trace_figure as trace_figure, nesting as nesting
from minitorch.compiler.recorder import NotRecordable
from minitorch.compiler import guard_check as guard_check, scan as scan, guards as guards, snapshot as snapshot
from minitorch.compiler import rewriting as rewriting, passes as passes, planner as planner
from minitorch.compiler import replay as replay, comparison as comparison, fuse as fuse, products as products, generate as generate
from minitorch.compiler import fused as fused, replayed as replayed, recording as recording
from minitorch.compiler.compiled import Compiled, compile

__all__ = ["Compiled", "NotRecordable", "compile"]
