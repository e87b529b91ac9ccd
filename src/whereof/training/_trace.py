"""Adding a step's credit to a fact's row of the trace, in double, single or half precision.

Compiled code knows no half precision, so a trace of halves reaches it as their bits (uint16).
"""

import math

import numpy as np

from whereof._jit import kernel


@kernel
def record(row, credit):
    """row += credit, where row (width,) is of floats or of the bits of halves."""
    if row.itemsize == 2:
        for k in range(row.shape[0]):
            row[k] = to_half(from_half(int(row[k])) + credit[k])
    else:
        for k in range(row.shape[0]):
            row[k] += credit[k]


@kernel
def from_half(bits):
    """The number whose IEEE 754 half-precision bits these are."""
    sign = -1.0 if bits & 0x8000 else 1.0
    exponent, fraction = (bits >> 10) & 31, bits & 1023
    if exponent == 31:
        return sign * (math.nan if fraction else math.inf)
    if exponent == 0:
        return sign * math.ldexp(float(fraction), -24)
    return sign * math.ldexp(float(1024 + fraction), exponent - 25)


@kernel
def to_half(number):
    """The bits of the nearest half-precision number, ties to even; too large becomes infinite."""
    sign = 0x8000 if math.copysign(1.0, number) < 0 else 0
    size = abs(number)
    if math.isnan(size):
        return np.uint16(0x7E00)
    if size == 0:
        return np.uint16(sign)
    if size >= 65520.0:
        return np.uint16(sign | 0x7C00)
    exponent = max(math.frexp(size)[1] - 1, -14)
    # A fraction that rounds up to the next power of two carries into the exponent by itself.
    steps = int(np.rint(math.ldexp(size, 10 - exponent)))
    return np.uint16(sign | (((exponent + 14) << 10) + steps))
