"""The benchmark of convolutions runs, compares the same convolution, and gives verdicts."""

import re

import numpy as np

from benchmarks import conv, conv_contenders


def test_the_table_has_rows_and_says_that_there_is_no_torch(capsys):
    conv.main(["--threads", "1", "--repeats", "1", "--only", "16 of 1", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert "torch: NOT RUN, false cannot import it; name an interpreter that can with --torch-python" in lines
    assert [bool(re.match(r"16 of 1 -> 4, 28² +1\.5 times torch's time +NOT RUN", line)) for line in lines[6:10]] == [True, False] * 2
    assert re.match(r" +with backward: ours [\d.]+ [mµ]?s .*, textbook [\d.]+ [mµ]?s", lines[9])
    assert lines[-1] == "0 reached, 0 MISSED, 2 NOT RUN"


def test_ours_is_the_convolution_that_the_table_names():
    backward, images, weights, _ = conv_contenders.arrays("forward 2 3 4 6")
    assert not backward
    padded = np.pad(images, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    expected = np.einsum("bchwkl,ockl->bohw", windows, weights)
    np.testing.assert_allclose(conv_contenders.of_minitorch("forward 2 3 4 6")().to_numpy(), expected, rtol=1e-4, atol=1e-4)
