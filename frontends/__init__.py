"""Floor 6: the ways by which programs of other systems come in (JAX's plugin)."""
