"""Training over several processes, on MPI. This file is the folder's table of contents."""

# Stage 7 - After the course
from minitorch.distributed import staging as staging
from minitorch.distributed.group import destroy_process_group, get_local_rank, get_rank, get_world_size, init_process_group, is_initialized
from minitorch.distributed.collectives import all_gather, all_reduce, barrier, broadcast
from minitorch.distributed import rendezvous as rendezvous
from minitorch.distributed import sockets as sockets

__all__ = [
    "all_gather", "all_reduce", "barrier", "broadcast", "destroy_process_group", "get_local_rank", "get_rank", "get_world_size",
    "init_process_group", "is_initialized",
]  # fmt: skip
