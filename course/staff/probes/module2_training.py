"""Probes of Task 2.5: a network of tensors."""

from __future__ import annotations

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, number
from course.staff.probes.layers import linear_layer_probe, network_probes, source_of, write
from course.staff.probes.module2 import rng
from course.staff.probes.networks import Perceptron, labelled_points
from course.staff.probes.program import Program

linear_layer_probe("2.5", "project.run_tensor")
network_probes("2.5", "project.run_tensor")


@probe(
    "2.5",
    "after training, the probabilities of unseen points match those of gradient descent in NumPy",
    weight=3,
    seconds=60,
    examples=[("Xor", 3, 1), ("Diag", 2, 2)],
    own_package=False,
    source=source_of("2.5", "project.run_tensor"),
)
def training(p: Program, dataset: str, hidden: int, seed: int) -> Check:
    """Eight epochs on 20 points, compared with gradient descent in NumPy."""
    known = Perceptron(hidden, seed)
    setting = p.find("project.lab.training.trainer:Setting")(dataset=dataset, points=20, hidden=hidden, rate=0.5, epochs=8, seed=seed)
    trainer = p.find("project.lab.training.tensor_trainer:TensorTrainer")(setting, p.find("project.run_tensor:Network"))
    write(p, trainer.network, known.parameters())
    for _ in range(8):
        trainer.run_epoch()
    hidden_points = rng(seed).uniform(0, 1, (5, 2))
    (got,) = yield [trainer.probabilities(hidden_points)]
    points, labels = labelled_points(dataset, 20, seed)
    for _ in range(8):
        known.descend(points, labels, 0.5)
    if not isinstance(got, list):
        raise Wrong("expected a list of probabilities")
    check_equal([number(one) for one in got], known(hidden_points).tolist(), 1e-6)
