"""Addresses of C functions and of what they are called with."""

from __future__ import annotations

import ctypes
from typing import Any


def address(pointer: Any, name: str) -> int:
    """The address in a pointer of ctypes, cffi or Numba, or of an array's first element."""
    if isinstance(pointer, (ctypes._CFuncPtr, ctypes._Pointer, ctypes.c_void_p)):
        return ctypes.cast(pointer, ctypes.c_void_p).value or 0
    if isinstance(pointer, (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)):
        return ctypes.addressof(pointer)
    if hasattr(pointer, "address"):  # a compiled function of Numba
        return int(pointer.address)
    if type(pointer).__module__ == "_cffi_backend":
        import _cffi_backend

        return int(_cffi_backend.FFI().cast("intptr_t", pointer))
    if hasattr(pointer, "__array_interface__"):
        return int(pointer.__array_interface__["data"][0])
    raise TypeError(
        f"{name} is a {type(pointer).__name__}; it must be an address, or a pointer of ctypes, "
        "cffi or Numba"
    )
