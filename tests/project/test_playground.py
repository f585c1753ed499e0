"""The playground: its settings, its points, its networks against NumPy, and the run as a command and as a script."""

import base64
import json
import random
import re
import shlex
import zlib
from dataclasses import replace

import numpy as np
import pytest

from project import run_playground
from project.lab.playground import script, share
from project.lab.playground.board import curves, encode, pretty, read
from project.lab.playground.points import Points, make_points, read_csv, split
from project.lab.playground.setting import FEATURES, PlaygroundSetting, inputs
from project.lab.playground.trainers import make_trainer
from tests.errors import raises
from tests.project.programs import refusal

NETWORKS = ("scalars", "tensors", "fast", "compiled")
ACTIVATIONS = {
    "relu": (lambda z: np.maximum(z, 0), lambda h: (h > 0).astype(float)),
    "tanh": (np.tanh, lambda h: 1 - h * h),
    "sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda h: h * (1 - h)),
    "linear": (lambda z: z, np.ones_like),
}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layers": "9"}, r"layers expected up to 6 numbers of units, each from 1 to 8, .* got '9'"),
        ({"layers": "1,1,1,1,1,1,1"}, "layers expected up to 6 numbers of units"),
        ({"layers": ""}, "or none, got ''"),
        ({"layers": "3,-1"}, "layers expected"),
        ({"features": "x3"}, r"features expected different names of x1 x2 .*, got 'x3'"),
        ({"features": "x1,x1"}, "features expected different names"),
        ({"features": ""}, "features expected different names"),
        ({"network": "paper"}, r"network expected one of scalars, tensors, fast, compiled, got 'paper'"),
        ({"noise": 0.6}, r"noise expected a number from 0 to 0\.5, .* got 0\.6"),
        ({"test": 91}, "test expected a whole number from 0 to 90, got 91"),
        ({"rate": 0.0}, "rate expected a number above 0"),
    ],
)
def test_a_setting_that_is_not_allowed_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        PlaygroundSetting(**values)


def test_the_sizes_begin_with_the_inputs_and_end_with_one_output():
    assert PlaygroundSetting(features="x1, x2,x1*x2", layers="4, 2").sizes == [3, 4, 2, 1]
    assert PlaygroundSetting(layers="none").sizes == [2, 1]


def test_the_inputs_are_functions_of_coordinates_from_minus_1_to_1():
    assert inputs(list(FEATURES), (0.75, 0.25)) == pytest.approx([0.5, -0.5, 0.25, 0.25, -0.25, 1.0, -1.0])
    assert inputs(["x2"], (0.0, 1.0)) == [1.0]


def test_noise_moves_points_and_keeps_their_labels():
    calm, noisy = (make_points(PlaygroundSetting(points=200, noise=noise)) for noise in (0.0, 0.1))
    assert calm.y == noisy.y
    moves = np.abs(np.array(calm.X) - np.array(noisy.X))
    assert 0.08 < moves.max() <= 0.1
    assert (moves > 0).mean() > 0.9
    assert ((np.array(noisy.X) >= 0) & (np.array(noisy.X) <= 1)).all()


def test_the_split_is_random_has_the_given_share_and_leaves_something_to_train_on():
    assert sum(split(200, 30, 0)) == 60
    assert split(200, 30, 0) != split(200, 30, 1)
    assert split(10, 0, 0) == (False,) * 10
    assert split(4, 90, 0).count(False) == 1


def test_points_survive_a_csv_file():
    points = make_points(PlaygroundSetting(noise=0.2)).with_point((0.1, 1 / 3), 1).without(3)
    assert read_csv(points.to_csv().encode(), 0, 5) == points


def test_a_csv_file_without_header_and_sets_is_split_and_scaled():
    data = b"\xef\xbb\xbf" + "\n".join(f"{10 * i},{-i},{i % 2}" for i in range(11)).encode() + b"\n\n"
    points = read_csv(data, 30, 7)
    assert points.X[0] == (0.0, 1.0)
    assert points.X[5] == pytest.approx((0.5, 0.5))
    assert points.X[10] == (1.0, 0.0)
    assert points.y == (0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0)
    assert points.is_test == split(11, 30, 7)


def test_one_coordinate_that_never_changes_is_not_a_division_by_zero():
    assert read_csv(b"5,1e308,0\n5,-1e308,1\n", 0, 0).X == ((0.0, 1.0), (0.0, 0.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected from 2 to 2,000 points, one a line, got 0"),
        ("0,0,1\n", "got 1"),
        ("0,0,1\n" * 2001, "got 2,001"),
        ("0,0,1\n0,0\n", r"line 2 of the file expected 3 or 4 columns \(x1, x2, label, set\), got 2"),
        ("x1,x2,label\n0,a,1\n0,0,0\n", "line 2 of the file expected numbers for x1 and x2, got '0' and 'a'"),
        ("0,nan,1\n0,0,0\n", "line 1 of the file expected finite numbers"),
        ("0,0,cat\n0,0,0\n", "line 1 of the file expected the label 0 or 1, got 'cat'"),
        ("0,0,1,all\n0,0,0,train\n", "line 1 of the file expected train or test in the fourth column, got 'all'"),
        ("0,0,1,train\n0,0,0\n", "fourth column, train or test, in all lines or in none"),
        ("0,0,1,test\n0,0,0,test\n", "expected at least one line with train"),
        ('0,"0,1\n0,0,1\n', "comma-separated values, got text that cannot be split"),
        ("0,0,1\n" * 200_000, "expected at most 1,000,000 bytes"),
        ("\xff\xfe0,0,1", "expected UTF-8 text"),
    ],
)
def test_a_csv_file_that_cannot_be_read_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_csv(text.encode("latin-1"), 30, 0)


def forward(weights, biases, x, activation):
    """The outputs of each layer at these inputs, shape (points, units)."""
    outputs = [x]
    for layer, (w, b) in enumerate(zip(weights, biases, strict=True)):
        z = outputs[-1] @ w + b
        outputs.append(ACTIVATIONS["sigmoid" if layer == len(weights) - 1 else activation][0](z))
    return outputs


def step(weights, biases, x, y, setting):
    """Weights and biases after a step of gradient descent on the mean loss of a batch plus the penalty, derived by hand."""
    outputs = forward(weights, biases, x, setting.activation)
    delta = (outputs[-1] - y[:, None]) / len(y)  # of sigmoid and -log together
    new = []
    for layer in reversed(range(len(weights))):
        w = weights[layer]
        gradient = outputs[layer].T @ delta
        gradient += {"none": 0 * w, "L1": setting.penalty * np.sign(w), "L2": setting.penalty * w}[setting.regularization]
        new.insert(0, (w - setting.rate * gradient, biases[layer] - setting.rate * delta.sum(0)))
        delta = (delta @ w.T) * ACTIVATIONS[setting.activation][1](outputs[layer])
    return [w for w, _ in new], [b for _, b in new]


def state(trainer):
    return [np.array(w) for w in trainer.weights()], [np.array(b) for b in trainer.biases()]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(
    ("activation", "regularization"), [("relu", "none"), ("tanh", "L1"), ("sigmoid", "L2"), ("linear", "L1")], ids=lambda name: name
)
def test_an_update_is_a_step_of_gradient_descent(network, activation, regularization):
    setting = PlaygroundSetting(
        network=network, activation=activation, regularization=regularization, penalty=0.3, features="x1,x2,x1*x2", layers="3,2", points=12
    )
    trainer = make_trainer(setting)
    numbers = [i for i, is_test in enumerate(trainer.points.is_test) if not is_test]
    batch = random.Random(setting.seed).sample(numbers, len(numbers))[: setting.batch]
    z = 2 * np.array([trainer.points.X[i] for i in batch]) - 1
    x, y = np.column_stack([z, z[:, 0] * z[:, 1]]), np.array([trainer.points.y[i] for i in batch])
    weights, biases = step(*state(trainer), x, y, setting)
    trainer.advance()
    found = state(trainer)
    for mine, theirs in zip([*found[0], *found[1]], [*weights, *biases], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)  # log adds 1e-6 in its argument


@pytest.mark.parametrize("network", NETWORKS)
def test_the_maps_are_the_outputs_of_each_unit_row_by_row_from_below(network):
    trainer = make_trainer(PlaygroundSetting(network=network, layers="3,2"))
    middles = [0.125, 0.375, 0.625, 0.875]
    z = 2 * np.array([(x_1, x_2) for x_2 in middles for x_1 in middles]) - 1
    expected = forward(*state(trainer), z, "tanh")
    maps = trainer.maps(4)
    assert [len(column) for column in maps] == [2, 3, 2, 1]
    for column, outputs in zip(maps, expected, strict=True):
        np.testing.assert_allclose(np.array(column), outputs.T, rtol=1e-6)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_weight_and_a_bias_can_be_set(network):
    trainer = make_trainer(PlaygroundSetting(network=network, layers="3"))
    before = state(trainer)
    trainer.write_weight(0, 1, 2, 5.0)
    trainer.write_bias(1, 0, -2.0)
    weights, biases = state(trainer)
    before[0][0][1, 2], before[1][1][0] = 5.0, -2.0
    for mine, theirs in zip([*weights, *biases], [*before[0], *before[1]], strict=True):
        assert mine.tolist() == theirs.tolist()
    trainer.run_epoch()  # what was set is trained
    assert trainer.weights()[0][1][2] != 5.0


@pytest.mark.parametrize(("network", "optimizer", "rate"), [("scalars", "Adam", 0.05), ("tensors", "momentum", 0.1)])
def test_every_optimizer_learns_circle(network, optimizer, rate):
    check_learning(network, optimizer, rate, epochs=40, points=60)


def check_learning(network, optimizer, rate, **size):
    trainer = make_trainer(PlaygroundSetting(network=network, dataset="Circle", optimizer=optimizer, rate=rate, layers="6", **size))
    while not trainer.done:
        trainer.run_epoch()
    assert trainer.losses[-1] < 0.3 < trainer.losses[0]


def test_the_test_loss_is_that_of_the_test_points_after_the_epoch():
    trainer = make_trainer(PlaygroundSetting(network="tensors"))
    trainer.run_epoch()
    numbers = [i for i, is_test in enumerate(trainer.points.is_test) if is_test]
    z, y = 2 * np.array([trainer.points.X[i] for i in numbers]) - 1, np.array([trainer.points.y[i] for i in numbers])
    p = forward(*state(trainer), z, "tanh")[-1][:, 0]
    assert trainer.test_losses == [pytest.approx(-np.log(np.where(y, p, 1 - p)).mean(), rel=1e-4)]
    assert trainer.test_correct == [((p > 0.5) == y).sum()]
    alone = make_trainer(PlaygroundSetting(test=0))
    alone.run_epoch()
    assert alone.test_losses == [None]


def test_settings_change_between_two_updates():
    trainer = make_trainer(PlaygroundSetting())
    trainer.change(replace(trainer.setting, rate=0.1))
    assert not trainer.changed  # before the first update it is the setting of the whole run
    trainer.advance()
    before = state(trainer)
    trainer.change(replace(trainer.setting, rate=1e-12, activation="relu", optimizer="Adam", batch=3))
    assert trainer.changed
    trainer.advance()
    for mine, theirs in zip(state(trainer)[0], before[0], strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-10)  # the new rate
    np.testing.assert_allclose(
        trainer.maps(2)[1], forward(*state(trainer), np.array([[-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]]), "relu")[1].T
    )


def test_a_compiled_step_is_recorded_once_for_each_size_of_a_batch():
    fast, compiled = (make_trainer(PlaygroundSetting(network=network, points=20, test=0, batch=8)) for network in ("fast", "compiled"))
    for trainer in (fast, compiled):
        for _ in range(4):
            trainer.run_epoch()
    assert (compiled._step.recorded, compiled._step.replayed) == (2, 10)  # 12 updates, of 8, 8 and 4 points an epoch
    assert compiled.losses == pytest.approx(fast.losses, rel=1e-9)


@pytest.mark.parametrize("network", NETWORKS)
def test_an_update_follows_each_changed_setting(network):
    trainer = make_trainer(PlaygroundSetting(network=network, points=20, layers="3"))
    changes = [{"activation": "relu"}, {"rate": 0.1}, {"penalty": 0.5}, {"regularization": "L2"}, {"penalty": 0.2}, {"batch": 5}]
    for change in [*changes, {"optimizer": "momentum", "rate": 0.4}]:  # the first step of momentum is that of SGD
        trainer.advance()
        trainer.change(replace(trainer.setting, **change))
        batch = trainer._order[trainer._first : trainer._first + trainer.setting.batch]
        x, y = 2 * np.array([trainer.points.X[i] for i in batch]) - 1, np.array([trainer.points.y[i] for i in batch])
        weights, biases = step(*state(trainer), x, y, trainer.setting)
        trainer.advance()
        for mine, theirs in zip([*state(trainer)[0], *state(trainer)[1]], [*weights, *biases], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-5, err_msg=str(change))


def test_added_points_are_trained_on_and_removed_ones_are_not():
    trainer = make_trainer(PlaygroundSetting(network="tensors", points=4, test=0, batch=2))
    trainer.advance()
    trainer.use(Points(((0.25, 0.75), (0.5, 0.5)), (1, 0), (False, True)))
    assert trainer.changed
    weights, biases = step(*state(trainer), np.array([[-0.5, 0.5]]), np.array([1]), trainer.setting)
    trainer.advance()
    assert trainer.epoch == 1
    np.testing.assert_allclose(trainer.weights()[0], weights[0], rtol=1e-4)
    np.testing.assert_allclose(trainer.biases()[-1], biases[-1], rtol=1e-4)


def test_script_and_command_repeat_the_run(capsys):
    check_repeated_run({"regularization": "L2", "noise": 0.1}, capsys)


def check_repeated_run(values, capsys):
    setting = PlaygroundSetting(epochs=12, **values)
    trainer = make_trainer(setting)
    while not trainer.done:
        trainer.run_epoch()
    exec(compile(script.write(setting), "script", "exec"), {"__name__": "script"})
    out, err = capsys.readouterr()
    assert err == ""
    assert [line.split()[1] for line in out.splitlines()] == ["10", "12"]
    assert out.splitlines()[-1] == f"epoch 12  loss {trainer.losses[-1]:.4f}"
    _, program, *arguments = shlex.split(setting.command())
    assert program == "project/run_playground.py"
    assert run_playground.main(arguments) == 0
    assert f"epoch 12/12  loss {trainer.losses[-1]:.4f}  correct {trainer.correct[-1]}/" in capsys.readouterr().out


def test_a_file_of_points_is_trained_on(tmp_path, capsys):
    path = tmp_path / "my points.csv"
    path.write_text(make_points(PlaygroundSetting(points=20)).to_csv(), encoding="utf-8")
    assert run_playground.main(shlex.split(PlaygroundSetting(file=str(path), epochs=2).command())[2:]) == 0
    assert "correct" in capsys.readouterr().out
    assert "No such file" in refusal(run_playground, capsys, "--file", tmp_path / "nothing.csv")
    path.write_text("0,0,2\n0,0,1\n", encoding="utf-8")
    assert "line 1 of the file expected the label 0 or 1, got '2'" in refusal(run_playground, capsys, "--file", path)


def test_cells_become_bytes_that_begin_with_the_lowest_color():
    assert encode([0.0, 0.5, 1.0], False) == "AID/"  # 0, 128, 255
    assert encode([-1.0, 0.0, 1.0], True) == "AID/"
    assert encode([-4.0, 0.0, 2.0], True) == "AIC/"[:2] + encode([0.0, 0.5, 0.75], False)[2:]
    assert encode([float("nan"), float("inf")], False) == encode([0.5, 1.0], False)


def test_long_curves_leave_epochs_out_and_gaps_stay():
    trainer = make_trainer(PlaygroundSetting())
    trainer.losses, trainer.test_losses = [float(i) for i in range(480)], [None, float("nan")] * 240
    assert curves(trainer)["train"] == [float(i) for i in range(0, 480, 2)]
    assert set(curves(trainer)["test"]) == {None}


def test_names_of_inputs_are_shown_as_in_a_formula():
    assert [pretty(name) for name in FEATURES] == ["x₁", "x₂", "x₁²", "x₂²", "x₁x₂", "sin(x₁)", "sin(x₂)"]


WEIGHT = {"kind": "weight", "layer": 0, "i": 1, "j": 2, "value": 0.5}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"kind": "add", "x": 0.5, "y": 2}, {"kind": "add", "x": (0.5, 1.0)}),
        ({"kind": "delete", "number": 9.0}, {"kind": "delete", "number": 9}),
        *[({"kind": "layers", "layers": layers},) * 2 for layers in ([4, 2], [])],
        (WEIGHT | {"serial": 1}, WEIGHT),
        ({"kind": "bias", "layer": 1, "j": 0, "value": -1}, {"kind": "bias", "layer": 1, "i": 0, "j": 0, "value": -1.0}),
    ],
)
def test_what_the_browser_sends_is_checked(event, expected):
    assert read(event, make_trainer(PlaygroundSetting(points=10, layers="3"))) == expected


@pytest.mark.parametrize(
    "event",
    [
        None,
        "add",
        {},
        {"kind": "other"},
        {"kind": "add", "x": "0", "y": 0},
        {"kind": "add", "x": float("nan"), "y": 0},
        *[{"kind": "delete", "number": number} for number in (10, -1, 0.5, True)],
        *[{"kind": "layers", "layers": layers} for layers in ([9], [0], [1] * 7, "4,3")],
        *[WEIGHT | wrong for wrong in ({"layer": 2}, {"i": 2}, {"j": 3}, {"value": None})],
    ],
    ids=str,
)
def test_nothing_else_of_what_the_browser_sends_is_taken(event):
    assert read(event, make_trainer(PlaygroundSetting(points=10, layers="3"))) is None


def test_a_network_survives_a_link():
    trainer = make_trainer(PlaygroundSetting(layers="3,2"))
    trainer.run_epoch()
    assert share.unpack(share.pack(trainer, False), [2, 3, 2, 1]) == (trainer.weights(), trainer.biases(), None)
    points = trainer.points.with_point((0.1, 1 / 3), 1)
    trainer.use(points)
    other = make_trainer(PlaygroundSetting(layers="3,2", seed=5))
    *numbers, found = share.unpack(share.pack(trainer, True), [2, 3, 2, 1])
    share.load_parameters(other, *numbers)
    assert (found, other.weights(), other.biases()) == (points, trainer.weights(), trainer.biases())
    assert other.changed
    trainer.use(make_points(PlaygroundSetting(points=2000)))
    assert share.link(trainer, False) is not None
    assert share.link(trainer, True) is None


def packed(parts):
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(parts).encode())).decode().rstrip("=")


LINE = {"weights": [[[1.0], [2.0]]], "biases": [[0.5]], "points": ""}  # two inputs and no hidden layer


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *[(text, share.DAMAGED) for text in ("", "abc", "é", packed(LINE)[:-4], packed([]), packed({}), packed(LINE | {"weights": 3}))],
        *[
            (packed(LINE | {"biases": biases}), share.DAMAGED)
            for biases in ([["a"]], [[float("nan")]], [0.5], [], [["0.5"]], [[True]], [[10**400]])
        ],
        (packed(LINE | {"weights": {"1": 0}}), share.DAMAGED),
        (packed(LINE | {"points": "\ud800"}), share.DAMAGED),
        (base64.urlsafe_b64encode(zlib.compress(b"[" * 200_000)).decode().rstrip("="), share.DAMAGED),
        (packed(LINE | {"weights": [[[1.0]]]}), "a network of sizes [2, 1], got those of sizes [1, 1]; copy the whole link"),
        (packed(LINE | {"points": "0,0,2"}), "the file expected from 2 to 2,000 points, one a line, got 1"),
    ],
)
def test_a_damaged_link_is_refused(text, message):
    with pytest.raises(ValueError, match=re.escape(message) + "$"):
        share.unpack(text, [2, 1])
    assert share.unpack(packed(LINE), [2, 1]) == (LINE["weights"], LINE["biases"], None)


def test_a_network_that_has_diverged_has_a_file_but_no_link():
    trainer = make_trainer(PlaygroundSetting(layers="2"))
    trainer.write_bias(0, 0, float("nan"))
    with raises(ValueError, "expected finite weights, got infinite ones or NaN; press Reset, and choose a smaller learning rate"):
        share.link(trainer, False)
    data = json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', share.page(trainer, ""))[1])
    assert data["biases"][0][0] == 0.0


def test_an_html_file_contains_the_network_and_nothing_from_elsewhere():
    trainer = make_trainer(PlaygroundSetting(layers="2"))
    trainer.run_epoch()
    made = share.page(trainer, "Words with </script> in <b>it</b>.")
    data = json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', made)[1])
    assert (data["weights"], data["biases"], data["activation"]) == (trainer.weights(), trainer.biases(), "tanh")
    assert [tuple(point[:2]) for point in data["points"]] == list(trainer.points.X)
    assert "://" not in made.replace("http://www.w3.org/2000/svg", "")  # a name, which is not loaded
    assert "Words with &lt;/script&gt; in &lt;b&gt;it&lt;/b&gt;." in made
