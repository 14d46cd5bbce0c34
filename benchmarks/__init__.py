"""Measurements, printed with what they are compared to; nothing here asserts a time."""
