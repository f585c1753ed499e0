"""The run of a setting as a Python program in which network and training loop are written out."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

from project.lab.playground.setting import PROGRAMS, PlaygroundSetting
from project.lab.playground.trainer import MOMENTUM

HEAD = '''"""A network of the playground. Save this file in the folder that contains minitorch/ and project/, and run it there."""

import random

import minitorch
from project.lab.playground.points import make_points
from project.lab.playground.setting import PlaygroundSetting, inputs
from project.{program} import Linear

points = make_points(PlaygroundSetting({data}))
rows = [inputs({features}, point) for point in points.X]
train = points.numbers(test=False)

{seed}
layers = [{layers}]
optimizer = {optimizer}
'''

LOOP = """

def network(x):
{forward}

{step}
order = random.Random({seed})
for epoch in range(1, {epochs} + 1):
    total = 0.0
    shuffled = order.sample(train, len(train))
    for first in range(0, len(train), {batch}):
        batch = shuffled[first : first + {batch}]
{learn}
    if epoch % 10 == 0 or epoch == {epochs}:
        print(f"epoch {{epoch}}  loss {{total / len(train):.4f}}")
"""

STEP = """{decorator}
def step(x, label):
    output = network(x).view(x.shape[0])
    loss = -(output * label + (1 - output) * (1 - label)).log().mean()
    loss.backward(){penalty}
    optimizer.step()
    return loss.detach()

"""

TENSORS = """\
        x = minitorch.tensor([rows[i] for i in batch]{backend})
        label = minitorch.tensor([float(points.y[i]) for i in batch]{backend})
        total += step(x, label).item() * len(batch)"""

SCALARS = """\
        for i in batch:
            output = network([minitorch.Scalar(x, None) for x in rows[i]])
            loss = -(output if points.y[i] else 1.0 - output).log()
            (loss / len(batch)).backward()
            total += loss.data{penalty}
        optimizer.step()"""


def write(setting: PlaygroundSetting) -> str:
    """Return the program; it prints the losses of the run."""
    data = ("file", "test", "seed") if setting.file else ("dataset", "points", "noise", "test", "seed")
    defaults = {field.name: field.default for field in dataclasses.fields(setting)}
    given = ", ".join(f"{name}={getattr(setting, name)!r}" for name in data if getattr(setting, name) != defaults[name])
    has_backend, is_scalar = setting.network in ("fast", "compiled"), setting.network == "scalars"
    backend = ", minitorch.FastBackend" if has_backend else ""
    head = HEAD.format(
        program=PROGRAMS[setting.network],
        data=given,
        features=setting.feature_names,
        seed=f"random.seed({setting.seed})" if is_scalar else f"minitorch.manual_seed({setting.seed})",
        layers=", ".join(f"Linear({a}, {b}{backend})" for a, b in pairwise(setting.sizes)),
        optimizer=_optimizer(setting),
    )
    decorator = "\n@minitorch.compile" if setting.network == "compiled" else ""
    body = LOOP.format(
        forward="\n".join(_forward(setting)),
        seed=setting.seed,
        epochs=setting.epochs,
        batch=setting.batch,
        step="" if is_scalar else STEP.format(decorator=decorator, penalty=_penalty(setting)),
        learn=(SCALARS if is_scalar else TENSORS).format(
            backend=", backend=minitorch.FastBackend" if has_backend else "", penalty=_penalty(setting)
        ),
    )
    return head + body


def _optimizer(setting: PlaygroundSetting) -> str:
    parameters = "[parameter for layer in layers for parameter in layer.parameters()]"
    if setting.optimizer == "Adam":
        return f"minitorch.Adam({parameters}, lr={setting.rate})"
    momentum = f", momentum={MOMENTUM}" if setting.optimizer == "momentum" else ""
    return f"minitorch.SGD({parameters}, lr={setting.rate}{momentum})"


def _forward(setting: PlaygroundSetting) -> list[str]:
    """The lines of the network."""
    call = "" if setting.activation == "linear" else f".{setting.activation}()"
    last = len(setting.sizes) - 2
    if setting.network == "scalars":
        hidden = [f"    x = [unit{call} for unit in layers[{number}](x)]" for number in range(last)]
        return [*hidden, f"    return layers[{last}](x)[0].sigmoid()"]
    return [*(f"    x = layers[{number}](x){call}" for number in range(last)), f"    return layers[{last}](x).sigmoid()"]


def _penalty(setting: PlaygroundSetting) -> str:
    """The lines that add the gradient of the penalty; "" for none."""
    if setting.regularization == "none":
        return ""
    is_l1, rate = setting.regularization == "L1", setting.penalty if setting.regularization == "L1" else setting.penalty / 2
    if setting.network == "scalars":
        weights = "\n        weights = [weight.value for layer in layers for row in layer.weights for weight in row]"
        term = "sum(w.relu() + (-w).relu() for w in weights)" if is_l1 else "sum(w * w for w in weights)"
        return f"{weights}\n        ({rate} * {term}).backward()"
    term = "(w.relu() + (-w).relu()).sum()" if is_l1 else "(w * w).sum()"
    return f"\n    ({rate} * sum({term} for w in (layer.weights.value for layer in layers))).backward()"
