"""Stage 7 - Distribution, the base class of torch.distributions, and Independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import is_float
from minitorch.torch import creation
from minitorch.torch.modes import no_grad
from minitorch.torch.places import Size
from minitorch.torch.promotion import get_default_dtype
from minitorch.torch.tensor import Tensor, as_torch


def parameters(*values: Any) -> tuple[Tensor, ...]:
    """Parameters of a distribution, tensors or numbers, as tensors of one shape."""
    given = [x for x in values if isinstance(x, Tensor)]
    dtype = given[0].dtype if given and is_float(given[0].dtype) else get_default_dtype()
    tensors = [x if isinstance(x, Tensor) else as_torch(creation.tensor(x, dtype=dtype)) for x in values]
    tensors = [x if is_float(x.dtype) else x.to(dtype) for x in tensors]
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in tensors))
    return tuple(x.expand(shape) for x in tensors)


class Distribution:
    """Base class of distributions.

    Args:
        batch_shape: The shape of the parameters: one random variable for each element.
        event_shape: The shape of one draw of one variable.
        validate_args: Whether parameters and values are checked; None for yes.

    Attributes:
        has_rsample: Whether gradients flow from draws to the parameters.
    """

    has_rsample = False

    def __init__(self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        self._checks = validate_args is not False

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one variable."""
        return self._event_shape

    def require(self, name: str, expected: str, values: Any, holds: Any) -> None:
        """Check parameters or values, unless checks are switched off.

        Raises:
            ValueError: If the condition does not hold for an element.
        """
        if self._checks and not bool(holds.all()):
            wrong = values.detach().numpy()[~holds.numpy()].reshape(-1)[0]
            raise ValueError(f"{type(self).__name__} expected {name} {expected}, got {wrong}")

    def shape_of(self, sample_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of draws: (*sample_shape, *batch_shape, *event_shape)."""
        return (*sample_shape, *self.batch_shape, *self.event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws from which gradients flow to the parameters; for the shape see `sample`.

        Raises:
            NotImplementedError: If the distribution has none.
        """
        raise NotImplementedError(f"{type(self).__name__} has no draws with gradients; use sample() and log_prob()")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws without gradients, shape (*sample_shape, *batch_shape, *event_shape)."""
        with no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, of values."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob; define log_prob(self, value) in the class")

    def entropy(self) -> Tensor:
        """The entropy in nats, shape batch_shape."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy; define entropy(self) in the class")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} has no mean; define it as a property of the class")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} has no variance; define it as a property of the class")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_shape={tuple(self.batch_shape)}, event_shape={tuple(self.event_shape)})"


class Independent(Distribution):
    """A distribution whose last batch dimensions are parts of one event: their log-probabilities are summed.

    Args:
        base_distribution: The distribution.
        reinterpreted_batch_ndims: How many dimensions.
        validate_args: See `Distribution`.

    Raises:
        ValueError: If the distribution has fewer batch dimensions.

    Example:
        >>> normal = torch.distributions.Normal(torch.zeros(5, 3), torch.ones(5, 3))
        >>> torch.distributions.Independent(normal, 1).log_prob(torch.zeros(5, 3)).shape
        torch.Size([5])
    """

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        shape, count = base_distribution.batch_shape, reinterpreted_batch_ndims
        if not 0 <= count <= len(shape):
            raise ValueError(f"Independent expected reinterpreted_batch_ndims from 0 to {len(shape)}, as there are in {shape}, got {count}")
        split = len(shape) - count
        super().__init__(shape[:split], (*shape[split:], *base_distribution.event_shape), validate_args)
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        self.has_rsample = base_distribution.has_rsample

    def sum_events(self, x: Tensor) -> Tensor:
        """A tensor summed over the dimensions that are parts of one event."""
        return x.sum(tuple(range(-self.reinterpreted_batch_ndims, 0))) if self.reinterpreted_batch_ndims else x

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws from which gradients flow to the parameters."""
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws without gradients."""
        return self.base_dist.sample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The sum of the log-probabilities of the parts of each event."""
        return self.sum_events(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        """The sum of the entropies of the parts."""
        return self.sum_events(self.base_dist.entropy())

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance
