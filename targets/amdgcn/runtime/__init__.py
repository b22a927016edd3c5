"""Programs on an AMD GPU, through HIP."""
