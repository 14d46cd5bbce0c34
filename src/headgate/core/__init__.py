"""Values and ports that every other part speaks in; standard library only.

Nothing here knows Spark, Kafka, files or clocks. A value is frozen; unknown is ``None``; every
duration is in seconds, every share a fraction, every rate per second.
"""
