"""Journals for people: one self-contained HTML page, tables and a live view for the terminal."""

from headgate.report.live import LiveView
from headgate.report.page import ReportRun, write_report
from headgate.report.progress import progress
from headgate.report.tables import comparison_table, options_table, policies_table, result_table, status_panel

__all__ = [
    "LiveView",
    "ReportRun",
    "comparison_table",
    "options_table",
    "policies_table",
    "progress",
    "result_table",
    "status_panel",
    "write_report",
]
