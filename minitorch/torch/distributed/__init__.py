"""torch.distributed: several processes. This file is the folder's table of contents."""

# Stage 7 - PyTorch's interface
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.distributed.groups import (
    Backend, GroupMember, ProcessGroup, ReduceOp, Work, destroy_process_group, get_backend, get_global_rank, get_group_rank,
    get_node_local_rank, get_process_group_ranks, get_rank, get_world_size, group, init_process_group, is_available, is_gloo_available,
    is_initialized, is_mpi_available, is_nccl_available, is_torchelastic_launched, new_group,
)  # fmt: skip
from minitorch.torch.distributed.collectives import (
    all_gather, all_gather_into_tensor, all_reduce, all_to_all, all_to_all_single, barrier, broadcast, gather, reduce, reduce_scatter,
    reduce_scatter_tensor, scatter,
)  # fmt: skip
from minitorch.torch.distributed.messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from minitorch.torch.distributed.objects import all_gather_object, broadcast_object_list, gather_object, scatter_object_list

__all__ = [
    "Backend", "GroupMember", "P2POp", "ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object",
    "all_reduce", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list",
    "destroy_process_group", "gather", "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group", "irecv", "is_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "isend", "new_group", "recv", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
]  # fmt: skip

_ABSENT: dict[str, str] = dict.fromkeys(
    ("TCPStore", "FileStore", "HashStore", "Store", "PrefixStore"), "processes meet by init_method alone"
)
_ABSENT |= dict.fromkeys(("fsdp", "tensor", "device_mesh", "init_device_mesh"), "every process holds the whole model")
_ABSENT |= dict.fromkeys(("rpc", "monitored_barrier"), "every call has a time limit, and says which process has ended")

__getattr__ = _refuse_absent("torch.distributed", __all__, reasons=_ABSENT)
