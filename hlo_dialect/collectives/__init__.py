"""Operations between devices and with the host."""
