"""A run and its evaluations as one page, made of their plain documents."""

from whence.report._page import Report, report_page
from whence.report._reading import read_evaluation, saved_evaluations

__all__ = ["Report", "read_evaluation", "report_page", "saved_evaluations"]
