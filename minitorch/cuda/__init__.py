"""A laboratory for CUDA kernels without a GPU: what every thread reads and writes. This file is the folder's table of contents."""

# Stage 3 - Efficiency
from minitorch.cuda import findings as findings, lanes as lanes, memory as memory, races as races, recorder as recorder
from minitorch.cuda import source as source, expressions as expressions, calls as calls, interpreter as interpreter
from minitorch.cuda import language as language, unify as unify
from minitorch.cuda import table as table, specs as specs  # inspect is a command, which python -m imports
from minitorch.cuda.findings import KernelError
from minitorch.cuda.report import KernelReport, inspect_kernel
from minitorch.cuda.occupancy import CARDS, Card, Occupancy, count_registers, occupancy

__all__ = ["CARDS", "Card", "KernelError", "KernelReport", "Occupancy", "count_registers", "inspect_kernel", "occupancy"]
