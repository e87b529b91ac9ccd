"""Array types and the three places of a fact, used by every room."""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

SUBJECT: Final = 0
RELATION: Final = 1
OBJECT: Final = 2
PLACES: Final = {2: ("subject", "object"), 3: ("subject", "relation", "object")}
"""The names of the places: two-way data has two, other data three."""

Facts: TypeAlias = NDArray[np.int32]
"""(n, 3) entity, relation and entity ids."""

Rows: TypeAlias = NDArray[np.floating]
"""(n, width) one vector per entity or relation."""

FactIds: TypeAlias = NDArray[np.int64]
"""(n,) rows of the training facts."""

Numbers: TypeAlias = NDArray[np.float64]
"""Numbers in double precision, for any precision of the rows."""
