"""Stage 7 - torch.special: special functions, with gradients, under the names that they have there."""

from minitorch.torch import names
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.tensor import publish

_RENAMED = {"lgamma": "gammaln", "sigmoid": "expit"}
_functions = {_RENAMED.get(name, name): function for name, function in names.functions(names.SPECIAL).items()}
publish(globals(), _functions | {"psi": _functions["digamma"]})

__getattr__ = refuse_absent("torch.special", defined(globals()))
