"""Reading MLIR text of the hlo dialect: `parse_module`. StableHLO's spelling gives the same operations."""

from .module import parse_module as parse_module
