"""A machine without a GPU: the errors of the cuda backend, and its tests are reported as not run."""

from pathlib import Path

import pytest

import minitorch
from benchmarks import gpu
from minitorch import CudaOps, TensorBackend, tensor
from minitorch.kernels.cuda import device as cuda_device

from .cuda import conftest
from .errors import raises

ROOT = Path(__file__).parent.parent


@pytest.fixture
def no_gpu(monkeypatch):
    """Make the machine look as if it had no GPU."""
    monkeypatch.setattr(cuda_device, "available", lambda: False)
    minitorch.cuda_backend.cache_clear()


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    "attempt",
    [
        lambda: TensorBackend(CudaOps),
        lambda: tensor([1.0]).to("cuda"),
        cuda_device.device_name,
        lambda: minitorch.sum_practice(tensor([1.0])),
        lambda: minitorch.mm_practice(tensor([[1.0]]), tensor([[1.0]])),
    ],
)
def test_without_a_gpu_the_backend_says_what_to_do(attempt):
    message = (
        "the cuda backend expected an NVIDIA GPU with its driver, got none; run on a machine with a GPU, "
        "or start Python with NUMBA_ENABLE_CUDASIM=1 to try kernels in the simulator, or use the backend of the CPU: x.to('cpu')"
    )
    with raises(RuntimeError, message):
        attempt()


@pytest.mark.usefixtures("no_gpu")
def test_the_error_gives_the_reason_why_numba_cannot_use_the_gpu(monkeypatch):
    monkeypatch.setattr(cuda_device, "_problem", OSError("libcudart is missing"))
    with pytest.raises(RuntimeError, match=r"got none \(OSError: libcudart is missing\); run on"):
        cuda_device.require_cuda()


def test_gpu_tests_report_a_gpu_that_numba_cannot_use(monkeypatch):
    monkeypatch.setattr(conftest, "has_gpu", lambda: True)
    monkeypatch.setattr(cuda_device, "_problem", OSError("libcudart is missing"))
    assert conftest.not_run() == (
        "NOT RUN: an NVIDIA GPU is here, but numba cannot use it (OSError: libcudart is missing); install CUDA's compilers with "
        "pip install -r requirements.cuda.txt, or set NUMBA_ENABLE_CUDASIM=1 for the simulator"
    )


def test_an_unwritten_kernel_is_reported_before_compilation():
    """On a GPU, an exception inside a kernel would go unnoticed."""

    def unwritten(out, a, size):
        raise NotImplementedError("Need to implement for Task 3.3")

    def half_written(out, a, size):
        if size > 3:
            raise NotImplementedError("only small ones")
        out[0] = cuda_device.cuda.threadIdx.x

    with pytest.raises(NotImplementedError, match=r"^Need to implement for Task 3\.3$") as error:
        cuda_device.jit(unwritten)
    assert error.traceback[-1].name == "unwritten", "the line to look at is the student's"
    cuda_device.jit(half_written)


def test_device_names_select_backends_and_other_names_are_dtypes():
    x = tensor([1.0])
    assert x.device == "cpu"
    assert x.to("simple").backend is minitorch.SimpleBackend
    assert x.to("cpu").device == "cpu"
    assert x.to("float32").dtype == minitorch.float32


@pytest.mark.usefixtures("no_gpu")
def test_the_benchmark_reports_that_it_was_not_run(capsys):
    assert gpu.main([]) == gpu.NOT_RUN
    assert capsys.readouterr().out == "NOT RUN: no NVIDIA GPU here\n"
