"""Control flow of Python on traced values, by rewriting a function's source: `xhlo.jit(autograph=True)`."""
