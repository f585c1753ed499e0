"""Stage 7 - torch.version: the versions of PyTorch's libraries for GPUs, none of which is used."""

cuda = hip = xpu = None
