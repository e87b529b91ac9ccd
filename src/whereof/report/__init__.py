"""A run and its evaluations as one page."""

from whereof.report._page import Report, report_page

__all__ = ["Report", "report_page"]
