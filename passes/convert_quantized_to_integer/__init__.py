"""The pass `convert-quantized-to-integer`: quantized tensors become tensors of their stored integers."""
