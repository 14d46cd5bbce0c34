"""The composition root: the only place, beside the command line, that knows every part.

Agents, policies, guards, journals and loops are put together here; nothing here decides anything.
"""
