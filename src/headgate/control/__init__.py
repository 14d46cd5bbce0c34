"""The MAPE-K loop: collect, evaluate, decide, review, apply; on real Spark and in virtual time alike.

Imports core only; agent, policy, guards, journal and clock are handed in.
"""
