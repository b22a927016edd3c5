"""XLA's HloModule text: read into hlo, written from it."""
