"""How each kernel runs on a GPU: tiles, vectors, threads, launches, written as attributes."""
