"""Compiled training steps: kernels recorded once and replayed without Python. This file is the folder's table of contents."""

# Stage 5 - After the course
from minitorch.compiler import trace as trace
from minitorch.compiler.recorder import NotRecordable
from minitorch.compiler import guards as guards, planner as planner, program as program, snapshot as snapshot
from minitorch.compiler import recording as recording
from minitorch.compiler.compiled import Compiled, compile

__all__ = ["Compiled", "NotRecordable", "compile"]
