"""Operations that stand for whole algorithms: decompose-hlo writes them out in simpler ones."""
