"""Operations that xhlo does not have; it finds them through this package's entry points (see pyproject.toml)."""
