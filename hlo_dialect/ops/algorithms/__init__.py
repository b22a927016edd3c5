"""Operations that represent whole algorithms: decompose-hlo expands them into simpler ones."""
