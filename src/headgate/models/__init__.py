"""Estimators that learn from a stream: what executors can carry, what will come, how long recovery takes.

Pure: numbers in, numbers out, no clock and no randomness. What a model has learned is JSON (``state`` and
``restored``), so that it can live in a policy's memory and come back from a journal.
"""
