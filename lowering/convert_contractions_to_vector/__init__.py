"""Matrix products to register-blocked vector loops."""
