"""The benchmark of attention runs, compares the same attention, and gives verdicts."""

import re

import numpy as np

from benchmarks import language, language_contenders


def test_the_table_has_rows_and_says_that_there_is_no_torch(capsys):
    language.main(["--threads", "1", "--repeats", "1", "--only", "causal 128", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"causal 128 +1\.3 times torch's time +NOT RUN", lines[7])
    assert re.match(r" +0\.6 times composed's time +[\d.]+ \([\d.]+ to [\d.]+\) +(reached|MISSED)", lines[8])
    assert re.match(r" +ours [\d.]+ [mµ]?s .*, composed [\d.]+ [mµ]?s", lines[9])


def test_both_of_ours_are_the_attention_that_the_table_names():
    is_causal, (q, k, v, gradient) = language_contenders.arrays("causal 12")
    assert is_causal
    powers = np.exp(np.float64(q) @ k.transpose(0, 1, 3, 2) / 8) * np.tri(12)
    weights = powers / powers.sum(-1, keepdims=True)
    for contender in (language_contenders.of_minitorch, language_contenders.of_composed):
        run = contender("causal 12")
        assert run is not None
        out, grads = run()
        np.testing.assert_allclose(out.to_numpy(), weights @ v, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(grads[2].to_numpy(), weights.transpose(0, 1, 3, 2) @ gradient, rtol=1e-4, atol=1e-5)


def test_the_products_of_int8_and_of_float32_are_the_same():
    x, weight = (array.astype(int) for array in language_contenders.integers("int8 64"))
    for contender in (language_contenders.of_minitorch, language_contenders.of_float32, language_contenders.of_numpy):
        run = contender("int8 64")
        assert run is not None
        assert np.asarray(getattr(run(), "to_numpy", run)()).reshape(-1).tolist() == (weight @ x[0]).tolist()
        assert contender is language_contenders.of_minitorch or contender("causal 12") is None


def test_rows_of_int8_are_compared_with_float32(capsys):
    language.main(["--threads", "1", "--repeats", "1", "--only", "int8 512", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"int8 512 +0\.67 times float32's time +[\d.]+ .*(reached|MISSED)", lines[7])
    assert re.match(r" +0\.67 times NumPy's time +[\d.]+ .*(reached|MISSED)", lines[8])
