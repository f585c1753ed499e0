"""Module 6: the oracles of all its tasks together, for `course.explain.registry`."""

from course.oracles import adapters, fused_attention, generation, language, machines, quantization, tokens, training

JUDGES = (
    tokens.JUDGES
    | language.JUDGES
    | fused_attention.JUDGES
    | generation.JUDGES
    | training.JUDGES
    | quantization.JUDGES
    | adapters.JUDGES
    | machines.JUDGES
)

PREPARE = tokens.PREPARE | language.PREPARE | generation.PREPARE | training.PREPARE | adapters.PREPARE | machines.PREPARE
"""What is read at the beginning of a call."""

FINISH = training.FINISH | machines.FINISH
"""What is read at the end of a call."""

LATER = generation.LATER + training.LATER + machines.LATER
"""Compared after the test, because that calls models of the test again."""

GENERATORS = generation.GENERATORS
"""Functions that yield: what they yielded is compared."""
