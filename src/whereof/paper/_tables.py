"""All tables, in the order they are shown."""

from whereof.paper._closeness_tables import approximation_table, changes_table, theory_table
from whereof.paper._criage_tables import criage_table, p_values_table
from whereof.paper._model_tables import (
    method_times_table,
    models_table,
    steadiness_table,
    times_table,
)
from whereof.paper._qualitative import qualitative_table
from whereof.paper._records import Table
from whereof.paper._removal_tables import released_table, removal_table, sizes_table
from whereof.paper._results import Results
from whereof.paper._truth_tables import truth_predictions_table, truth_table

_MAKERS = (
    removal_table,
    released_table,
    sizes_table,
    criage_table,
    p_values_table,
    method_times_table,
    models_table,
    times_table,
    approximation_table,
    changes_table,
    steadiness_table,
    theory_table,
    truth_table,
    truth_predictions_table,
    qualitative_table,
)


def make_tables(results: Results) -> list[Table]:
    """Every table of which something was measured."""
    return [table for make in _MAKERS if (table := make(results)) is not None]
