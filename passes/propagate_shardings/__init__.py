"""The pass propagate-shardings."""
