"""All families of variants. To add one, write its file and register it here."""

from __future__ import annotations

from course.staff.variants.activation import ACTIVATION
from course.staff.variants.family import Family
from course.staff.variants.order import ORDER
from course.staff.variants.points import POINTS
from course.staff.variants.reduction import REDUCTION

FAMILIES: dict[str, Family] = {family.name: family for family in (ACTIVATION, REDUCTION, POINTS, ORDER)}
"""Families by name, in the order of their tasks."""
