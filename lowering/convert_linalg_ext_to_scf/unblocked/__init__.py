"""Unblocked factorizations of dense matrices, one matrix at a time, real or complex: QR, eigenvalues, SVD, .."""
