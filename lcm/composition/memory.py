"""How a process that reads much holds its memory: modules are not walked again, large blocks go back when freed."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

_M_MMAP_THRESHOLD = -3
_LARGE_BLOCK_BYTES = 1 << 20


def prepare_for_long_work() -> None:
    """To be called once, when the modules that the work needs are loaded."""
    # Full collections would walk all that was loaded so far, again and again.
    gc.freeze()
    # Left alone, glibc raises this threshold to the largest block freed: after a line of 30 MB its heap keeps as much.
    # Other C libraries have no such function, and give large blocks back anyway.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)
