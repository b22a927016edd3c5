"""xhlo as a PJRT plugin: JAX programs compile with it and run on it, with `JAX_PLATFORMS=xhlo`."""

from __future__ import annotations

import os

PLATFORM = "xhlo"
"""The name of the platform in JAX, by which programs ask for it."""

NAME_VARIABLE = "XHLO_PLATFORM_NAME"

REPORTED = os.environ.get(NAME_VARIABLE) or PLATFORM
"""
The platform's name as its devices report it: "cpu" for libraries with closed lists of platforms, which compare
`device.platform` with them.
"""

SUBNORMALS_VARIABLE = "XHLO_SUBNORMALS"

SUBNORMALS = os.environ.get(SUBNORMALS_VARIABLE) or "flush"
"""Whether subnormal numbers count as zeros (flush), as on XLA:CPU, or not (keep)."""
