"""Headgate keeps a streaming pipeline exactly as big as its stream needs."""
