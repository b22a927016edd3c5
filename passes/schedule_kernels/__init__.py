"""The pass `schedule-kernels`: the order of kernels, and which of them run again, for least memory."""
