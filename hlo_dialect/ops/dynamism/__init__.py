"""Operations on dynamic shapes and bounded dimensions: resolve-dynamic-shapes makes them static."""
