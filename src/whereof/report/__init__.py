"""A run and its evaluations as one page, made of their plain documents."""

from whereof.report._page import Report, report_page
from whereof.report._reading import check_evaluation, read_evaluation

__all__ = ["Report", "check_evaluation", "read_evaluation", "report_page"]
