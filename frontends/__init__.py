"""Floor 6: front ends, through which programs of other systems come in (JAX's plugin)."""
