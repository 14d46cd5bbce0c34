"""Daedalus (Pfister et al., ICPE 2024): the policy, its Algorithm 1, and what it remembers."""

from headgate.policies.daedalus.algorithm import Choice, Outlook, scale_out
from headgate.policies.daedalus.policy import Daedalus

__all__ = ["Choice", "Daedalus", "Outlook", "scale_out"]
