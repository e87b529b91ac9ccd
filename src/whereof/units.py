"""The text of a value by its unit. Every number that people read is written here."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeGuard

UNKNOWN: Final = "-"
_HYPHENS = re.compile(r"(?:^|(?<=[ (]))-(?=[0-9])")


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is finite: None, NaN and infinity are not known."""
    return value is not None and math.isfinite(value)


def show(value: Any, unit: str = "text", pair: str = "") -> str:
    """A value, or a pair of them, as people read it."""
    if pair == "interval":
        return interval(value, unit)
    if pair == "deviation":
        return deviation(value, unit)
    if isinstance(value, bool) and unit == "text":
        return "yes" if value else "no"
    if unit == "text" or isinstance(value, str):  # such as `all` among counts
        return "" if value is None else str(value)
    return _TEXTS[unit](float(value)) if is_number(value) else UNKNOWN


def typographic(words: str) -> str:
    """A text with minus signs instead of hyphens before numbers, for pages and pictures."""
    return _HYPHENS.sub("\N{MINUS SIGN}", words)


def interval(ends: Sequence[float | None] | None, unit: str) -> str:
    """`82-100%` or `-0.2 to 0.1`; empty if there is no interval."""
    if ends is None or not all(map(is_number, ends)):
        return ""
    low, high = (float(end) for end in ends if end is not None)
    if unit in ("percent", "share"):
        first, last = (
            f"{end:.0f}" if end == 0 or abs(end) >= 9.95 else f"{end:.1f}"
            for end in (100 * low, 100 * high)
        )
        return f"{first}% to {last}%" if low < 0 else f"{first}-{last}%"
    return f"{show(low, unit).removesuffix(' points')} to {show(high, unit)}"


def deviation(both: Sequence[float | None] | None, unit: str) -> str:
    """A mean and its deviation; a constant count has no deviation."""
    if both is None or not is_number(both[0]):
        return UNKNOWN
    mean, spread = both
    if not is_number(spread) or (not spread and unit in ("mean", "count")):
        return show(mean, unit)
    return f"{show(mean, unit).removesuffix('%')} ± {show(spread, unit).removeprefix('+')}"


def count(n: float | str, noun: str) -> str:
    """`1 fact`, `1,592 facts`, `261.4 facts`, `all entities`."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n if isinstance(n, str) else show(n, 'mean')} {noun if n == 1 else several}"


def ordinal(n: int) -> str:
    """`1st`, `2nd`, `11th`, `1,203rd`."""
    endings = {} if n // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}
    return f"{n:,}{endings.get(n % 10, 'th')}"


def percent(value: float) -> str:
    """A fraction in percent; small ones keep two digits."""
    if value < 0:
        return f"-{percent(-value)}"
    if value < 1 and round(100 * value, 1) == 100:
        return ">99.9%"
    return f"{_digits(100 * value)}%"


def chance(value: float) -> str:
    """A probability in percent; small ones keep three digits, so that they can be compared."""
    return f"{_digits(100 * value, 3)}%" if 0 < value < 0.01 else percent(value)


def points(value: float) -> str:
    """The size of a difference of fractions, without its sign."""
    return f"{_digits(100 * abs(value))} points"


def number(value: float) -> str:
    """Three digits, or all digits before the point."""
    size = abs(value)
    if size == 0:
        return "0"
    if 999.5 <= size < 1e6:
        return f"{value:,.0f}"
    return f"{value:.2e}" if size < 1e-4 or size >= 1e6 else f"{value:#.3g}".rstrip(".")


def seconds(value: float) -> str:
    """`12 ms`, `1.4 s`, `22 min 50 s`, `3 h 5 min`, `2 days 4 h`."""
    if value < 0.9995:
        return f"{1000 * value:.3g} ms"
    if value < 59.95:
        return f"{value:.1f} s"
    units = (("s", 1, "min", 60), ("min", 60, "h", 60), ("h", 3600, "day", 24))
    small, step, name, times = units[0 if value < 3599.5 else 1 if value < 86400 - 30 else 2]
    large, rest = divmod(round(value / step), times)
    name = f"{name}s" if name == "day" and large != 1 else name
    return f"{large:,} {name}" + (f" {rest} {small}" if rest else "")


def size(n_bytes: float) -> str:
    """Bytes with a prefix: `3.4 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def plan_text(n_retrainings: int, duration: float, at_once: int, n_known: int = 0) -> str:
    """Such as `11 retrainings, 2 at a time, about 1.4 s; 3 more are stored already`."""
    at_once = min(at_once, n_retrainings)
    text = count(n_retrainings, "retraining") + (f", {at_once} at a time" if at_once > 1 else "")
    text += ", less than a second" if duration < 1 else f", about {seconds(duration)}"
    verb = "is" if n_known == 1 else "are"
    return f"{text}; {n_known:,} more {verb} stored already" if n_known else text


def sweeps_text(n_sweeps: int, duration: float) -> str:
    """Such as `2 sweeps through training, about 1 min 20 s`."""
    return f"{count(n_sweeps, 'sweep')} through training, about {seconds(duration)}"


def _mean(value: float) -> str:
    if value.is_integer():
        return f"{int(value):,}"
    return f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def _probability(value: float) -> str:
    if not 0 < value < 0.00995:  # it has at least three digits
        return f"{value:.4f}"
    return f"{value:.2e}" if value < 0.001 else f"{value:.5f}"


def _influence(value: float) -> str:
    return f"{value:.1e}" if 0 < value < 0.001 else f"{value:.4f}"


def _signed(write: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: f"{'+' if value > 0 else '-' if value < 0 else ''}{write(abs(value))}"


def _digits(value: float, n_digits: int = 2) -> str:
    if value == 0 or value >= 1 or not math.isfinite(value):
        return f"{value:.1f}"
    if value < 1e-4:
        return f"{value:.{n_digits - 1}e}"
    return f"{value:.{n_digits - 1 - math.floor(math.log10(value))}f}"


_TEXTS: dict[str, Callable[[float], str]] = {
    "count": "{:,.0f}".format,  # 1,234
    "mean": _mean,  # 261.4: a mean of counts
    "percent": percent,  # a fraction: 0.123 is 12.3%
    "share": percent,  # a percent with a bar where there is room
    "chance": chance,  # a probability in percent
    "points": _signed(points),  # a difference of fractions: 0.123 is +12.3 points
    "probability": _probability,  # four digits after the point, or three digits
    "influence": _signed(_influence),
    "score": "{:.3f}".format,
    "rating": "{:.2f}".format,  # as predicted
    "correlation": "{:.3f}".format,
    "number": number,  # three digits
    "signed": _signed(number),
    # Shuffling cannot distinguish smaller values from 0.
    "p-value": lambda value: f"{value:.4f}" if value >= 0.0002 else "<0.0002",
    "seconds": seconds,
    "bytes": size,
}
UNITS: Final = ("text", *_TEXTS)
"""What a value is. Text is shown as it is, a bool as yes or no."""
