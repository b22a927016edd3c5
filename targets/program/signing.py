"""
Signed executables: Ed25519 signatures, by the package `cryptography` (`pip install 'xhlo[signing]'`).

    magic, public key (32 bytes), signature (64 bytes) of what follows, the executable's bytes
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

MAGIC = b"XHLOSIGN"
VARIABLE = "XHLO_TRUSTED_KEYS"
"""Names files of public keys in PEM, separated as in PATH. If it is set, only what one of them signed is loaded."""

_KEY, _SIGNATURE = 32, 64
_START = len(MAGIC) + _KEY + _SIGNATURE
_PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)


def _library(name: str) -> Any:
    try:
        return import_module(f"cryptography.{name}")
    except ImportError as error:
        raise RuntimeError("signatures need the package cryptography: pip install 'xhlo[signing]'") from error


def sign_executable(data: bytes, private_key: bytes) -> bytes:
    """
    The bytes of a serialized executable with a signature by an Ed25519 key, given as PEM without a password.

    Raises ValueError for another kind of key, RuntimeError without the package cryptography.

    >>> import xhlo
    >>> from importlib.util import find_spec
    >>> data = xhlo.compile("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }").serialize()
    >>> if find_spec("cryptography"):
    ...     from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    ...     from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    ...     key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    ...     assert xhlo.deserialize(xhlo.sign_executable(data, key))(2.0) == 2
    """
    key = _library("hazmat.primitives.serialization").load_pem_private_key(private_key, None)
    if not isinstance(key, _library("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey):
        raise ValueError("the private key is of another kind than Ed25519")
    return MAGIC + key.public_key().public_bytes_raw() + key.sign(data) + data


def is_required() -> bool:
    """Whether only signed executables are loaded."""
    return bool(os.environ.get(VARIABLE))


def verified(data: bytes) -> bytes:
    """
    The executable's own bytes: without a signature where none is required, else checked.

    Raises ValueError if a signature is required, and is missing, wrong, or by a key that is not trusted; RuntimeError
    without the package cryptography.
    """
    if not isinstance(data, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected the bytes that Executable.serialize returned, got {type(data).__name__}")
    data = bytes(data)
    is_signed = data.startswith(MAGIC)
    if not is_required():
        return data[_START:] if is_signed else data
    if not is_signed or len(data) < _START:
        raise ValueError(f"the executable is not signed, and {VARIABLE} asks for a signature")
    raw = data[len(MAGIC) : len(MAGIC) + _KEY]
    for key in _trusted_keys():
        if key.public_bytes_raw() == raw:
            try:
                key.verify(data[_START - _SIGNATURE : _START], data[_START:])
            except _library("exceptions").InvalidSignature:
                raise ValueError("the executable's signature is wrong") from None
            return data[_START:]
    raise ValueError(f"the executable is signed by a key that is not among those of {VARIABLE}")


def _trusted_keys() -> list[Any]:
    load: Any = _library("hazmat.primitives.serialization").load_pem_public_key
    kind = _library("hazmat.primitives.asymmetric.ed25519").Ed25519PublicKey
    found: list[Any] = []
    for path in os.environ[VARIABLE].split(os.pathsep):
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise ValueError(f"{VARIABLE}: {path} cannot be read: {error.strerror}") from None
        keys = [load(pem) for pem in _PEM.findall(text)]
        if not keys or not all(isinstance(key, kind) for key in keys):
            raise ValueError(f"{VARIABLE}: {path} has other contents than public Ed25519 keys in PEM")
        found += keys
    return found
