"""What programs ask about devices and libraries: the answers of a machine without a GPU, and default devices."""

import pytest

import minitorch.torch as torch
from minitorch.torch.backends import cudnn
from minitorch.torch.cuda import devices, streams
from minitorch.torch.nn.attention import SDPBackend, sdpa_kernel
from tests.errors import raises

NO_GPU = RuntimeError("no GPU")


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch):
    """A machine without a GPU, whatever this one has."""

    def refuse():
        raise NO_GPU

    for module in (devices, streams):
        monkeypatch.setattr(module, "require_cuda", refuse)


def test_there_is_no_gpu_of_any_kind():
    for module in (torch.cuda, torch.mps, torch.xpu, torch.accelerator):
        assert not module.is_available()
        assert module.device_count() == 0
        module.empty_cache()
    assert torch.accelerator.current_accelerator() is None
    assert (torch.cuda.memory_allocated(), torch.cuda.max_memory_reserved(), torch.accelerator.memory_allocated()) == (0, 0, 0)
    assert not torch.cuda.is_bf16_supported()
    assert torch.version.cuda is None


def test_what_needs_a_gpu_says_so():
    needing = (torch.cuda.current_device, torch.cuda.get_device_name, torch.cuda.Stream, torch.cuda.mem_get_info, torch.cuda.Event().record)
    for call in (*needing, lambda: torch.cuda.set_device(0), torch.accelerator.current_device_index, torch.cuda.init):
        with raises(RuntimeError, "no GPU"):
            call()
    with raises(
        RuntimeError, "torch.mps.synchronize expected a GPU of Apple, which is not used here; call it only if torch.mps.is_available()"
    ):
        torch.mps.synchronize()
    with raises(RuntimeError, "elapsed_time expected two recorded events with enable_timing=True; call record() on both"):
        torch.cuda.Event(enable_timing=True).elapsed_time(torch.cuda.Event())
    with torch.cuda.device(0), torch.cuda.stream(None):
        pass


@pytest.mark.parametrize("module", [torch.cuda, torch.mps, torch.xpu])
def test_every_module_seeds_the_one_stream_of_random_numbers(module):
    module.manual_seed(5)
    first = torch.rand(3)
    module.manual_seed_all(5)
    assert torch.equal(torch.rand(3), first)


def test_a_gpu_is_used_by_its_number(monkeypatch):
    monkeypatch.setattr(devices, "current_device", lambda: 0)
    for place in (0, None, "cuda", "cuda:0", torch.device("cuda", 0)):
        torch.cuda.set_device(place)
    with raises(ValueError, "set_device expected the GPU in use, 0, got 1; set CUDA_VISIBLE_DEVICES for another one"):
        torch.cuda.set_device(1)
    monkeypatch.setattr(devices, "is_available", lambda: True)
    with raises(RuntimeError, "memory_allocated cannot say: the memory of tensors is not counted; see torch.cuda.mem_get_info()"):
        torch.cuda.memory_allocated()


def test_switches_can_be_set_and_come_back():
    before = cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    assert cudnn.benchmark
    with cudnn.flags(enabled=False, deterministic=True):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (False, False, True)
    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (True, True, False)
    torch.backends.cudnn.benchmark = before
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.backends.mkldnn.flags(enabled=True):
        assert torch.backends.mkldnn.enabled
    assert not torch.backends.mkldnn.enabled


def test_libraries_that_are_not_used_are_not_available():
    for name in ("cudnn", "mkl", "mkldnn", "mps", "openmp"):
        assert getattr(torch.backends, name).is_available() is False
    assert not torch.backends.cuda.is_built()
    assert repr(torch.backends.mkl) == "torch.backends.mkl, which is not used"


def test_attention_refuses_to_be_left_without_a_kernel():
    assert torch.backends.cuda.math_sdp_enabled()
    assert not torch.backends.cuda.flash_sdp_enabled()
    q = torch.ones(1, 2, 4)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]), torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert torch.nn.functional.scaled_dot_product_attention(q, q, q).shape == (1, 2, 4)
    expected = "sdpa_kernel expected MATH or FLASH_ATTENTION among the kernels, got {}; add SDPBackend.MATH"
    with raises(RuntimeError, expected.format("EFFICIENT_ATTENTION")):
        sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION)
    with raises(RuntimeError, expected.format("EFFICIENT_ATTENTION, CUDNN_ATTENTION")):
        torch.backends.cuda.sdp_kernel(enable_math=False, enable_flash=False)
    with raises(TypeError, "sdpa_kernel expected torch.nn.attention.SDPBackend, got 'math'; such as SDPBackend.MATH"):
        sdpa_kernel(["math"])
    with raises(RuntimeError, "enable_math_sdp expected True, got False: attention has no other kernel on a GPU; leave the call out"):
        torch.backends.cuda.enable_math_sdp(False)


def test_a_device_is_the_default_inside_of_a_block():
    cpu = torch.device("cpu")
    with cpu as entered, cpu:
        assert entered is cpu
        assert torch.zeros(1).device == torch.get_default_device() == cpu
    assert torch.get_default_device() == cpu
    assert torch.device(1) == torch.device("cuda:1")


def test_a_device_in_a_block_changes_where_tensors_are_made(monkeypatch):
    from minitorch import SimpleBackend
    from minitorch.torch import places

    monkeypatch.setattr(places, "backend_of", lambda place: SimpleBackend)
    with torch.device("cpu"):
        assert places._default is SimpleBackend
    assert places._default is not SimpleBackend


@pytest.mark.parametrize("name", ["gpu", "mps", "xpu"])
def test_a_device_that_does_not_exist_is_an_error_that_names_those_that_do(name):
    for call in (lambda: torch.zeros(1, device=name), lambda: torch.zeros(1).to(name), lambda: torch.set_default_device(name)):
        with raises(ValueError, f'device expected "cpu" or "cuda", got {name!r}; or with a number: "cuda:0"'):
            call()


def test_absent_names_say_why():
    with raises(AttributeError, "torch.cuda has no memory_summary in minitorch: the memory of tensors is not counted; see mem_get_info()"):
        torch.cuda.memory_summary  # noqa: B018
