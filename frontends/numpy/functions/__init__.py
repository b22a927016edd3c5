"""Functions of NumPy that are built on others: borders, places, quantiles, polynomials, masks."""
