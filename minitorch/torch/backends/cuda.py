"""Stage 7 - torch.backends.cuda: switches of PyTorch's libraries for GPUs, which change nothing here, and the kernels for attention."""

from __future__ import annotations

from contextlib import AbstractContextManager


class MatmulSwitches:
    """Switches of matrix products, which compute in the dtype of their operands."""

    allow_tf32 = allow_fp16_reduced_precision_reduction = allow_bf16_reduced_precision_reduction = False


matmul = MatmulSwitches()


def is_built() -> bool:
    """False: PyTorch's libraries for GPUs are not used."""
    return False


def math_sdp_enabled() -> bool:
    """True: a GPU computes attention by its formula."""
    return True


def flash_sdp_enabled() -> bool:
    """False: there is no such kernel on a GPU."""
    return False


mem_efficient_sdp_enabled = cudnn_sdp_enabled = flash_sdp_enabled


def enable_flash_sdp(enabled: bool) -> None:
    """Nothing: there is no such kernel on a GPU to allow or forbid."""


enable_mem_efficient_sdp = enable_cudnn_sdp = enable_flash_sdp


def enable_math_sdp(enabled: bool) -> None:
    """Allow the formula of attention.

    Raises:
        RuntimeError: If it is forbidden, because there is nothing else.
    """
    if not enabled:
        raise RuntimeError("enable_math_sdp expected True, got False: attention has no other kernel on a GPU; leave the call out")


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> AbstractContextManager[None]:
    """The older name of `torch.nn.attention.sdpa_kernel`.

    Raises:
        RuntimeError: If the formula and tiles are both forbidden.
    """
    from minitorch.torch.nn.attention import SDPBackend, sdpa_kernel

    allowed = {
        SDPBackend.MATH: enable_math,
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }
    return sdpa_kernel([kernel for kernel, enabled in allowed.items() if enabled])
