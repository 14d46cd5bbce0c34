"""Phoebe (Geldenhuys et al., ICWS 2022): the policy, how it chooses, and what it remembers."""

from headgate.policies.phoebe.choice import Candidate, Pick, pick
from headgate.policies.phoebe.policy import Phoebe
from headgate.policies.phoebe.reading import read_profile

__all__ = ["Candidate", "Phoebe", "Pick", "pick", "read_profile"]
