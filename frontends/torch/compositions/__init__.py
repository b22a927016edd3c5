"""Operations as functions of simpler ones of torch, by family."""
