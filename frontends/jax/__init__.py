"""xhlo as a PJRT plugin: JAX programs compile with it and run on it, with `JAX_PLATFORMS=xhlo`."""

PLATFORM = "xhlo"
"""The name of the platform in JAX."""
