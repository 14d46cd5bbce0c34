"""Where samples and ticks are kept: in memory for simulations, in SQLite for everything that must last.

A journal holds one app and any number of runs of it, in the order in which they were opened. Report,
dashboard, replay and a controller that comes back read nothing else.
"""

from headgate.journal.excerpt import Excerpt
from headgate.journal.memory import MemoryJournal
from headgate.journal.sqlite import SqliteJournal, read_journal

__all__ = ["Excerpt", "MemoryJournal", "SqliteJournal", "read_journal"]
