"""The model of data-parallel training: hand-computed costs, and the whole program."""

import re

from benchmarks import distributed
from tests.distributed.jobs import needs_mpi


@needs_mpi
def test_the_program_measures_checks_and_predicts(capsys):
    assert distributed.main(["--repeats", "1", "--only", "mlp"]) in (0, 1)
    out = capsys.readouterr().out
    assert re.search(
        r"\nBetween two processes here: latency \d+\.\d µs, bandwidth \d+\.\d\d GB/s\nmlp        whole batch each: predicted ", out
    )
    assert out.count("\n    1,024 ") == 2


def test_the_networks_have_their_published_numbers_of_parameters():
    counts = {name: distributed.parameters(name) for name in ("published", "lenet", "mlp")}
    assert counts == {"published": 4 * 9 + 4 + 8 * 4 * 9 + 8 + 392 * 64 + 64 + 640 + 10, "lenet": 61706, "mlp": 269322}
