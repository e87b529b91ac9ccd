"""The card of this machine, through CuPy."""

from functools import lru_cache
from typing import Any

from whence._extras import need
from whence.errors import WhenceError


@lru_cache
def open_card(task: str = "engine cuda") -> Any:
    """CuPy, once it is sure that there is a card to use; `task` is named where there is none."""
    cupy = need("cupy", "cuda", task)
    try:
        n_cards = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # a driver that is missing says so in many ways
        raise WhenceError(f"{task} finds no CUDA card ({_first_line(error)})") from None
    if not n_cards:
        raise WhenceError(f"{task} finds no CUDA card")
    return cupy


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
