"""The shape dialect: shapes and sizes as values."""
