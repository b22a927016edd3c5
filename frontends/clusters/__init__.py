"""NumPy code that was never decorated, on arrays that record what is asked of them: clusters of it are compiled."""
