"""Stage 7 - torch.optim.swa_utils: the averages of parameters of `minitorch.optim.swa_utils`."""

from minitorch.core.lazy_imports import lazy_imports as _lazy_imports

with _lazy_imports(globals()):  # that module imports minitorch.torch, which imports this one
    from minitorch.optim.swa_utils import SWALR, AveragedModel, get_ema_avg_fn, get_swa_avg_fn, update_bn

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_swa_avg_fn", "update_bn"]
