"""A consumer group that packs itself: monitor, controller and consumers, processes that talk through topics.

Source: the consumer-group autoscaler (Landau, University of Porto, 2022; chapter 4). The monitor measures how fast each
partition is written to (``monitor``, ``estimators``); the controller packs partitions onto as few consumers as carry
them and moves them without two ever reading one (``group``, ``controller``); a consumer is a PySpark process that
brings its partitions into a lake, exactly once (``cycle``, ``commit_log``, ``lake``, ``consumer``). What they say to
each other is in ``messages``; who starts and ends consumers is a port, ``fleet``.
"""
