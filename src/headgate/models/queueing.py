"""How long a record waits and is worked on at an operator with several instances: GI/G/k by Allen and Cunneen.

Elastic Pulsar Functions (Russo Russo et al., ICPE Companion 2021, equations 1 to 3), after Bolch et al., "Queueing
Networks and Markov Chains", 2006:

    T = 1/μ + T_q        T_q = (c_a² + c_s²) ÷ 2k · P_k ÷ (μ (1 − ρ))        ρ = λ ÷ (k μ)

    P_k = (ρ^k + ρ) ÷ 2 for ρ ≥ 0.7,        ρ^((k+1)/2) for ρ < 0.7

λ is the arrival rate, μ the rate of one instance, k the number of instances, c_a and c_s the coefficients of variation
of the times between arrivals and of service times. The paper prints ρ^√(k+1); with one instance the probability to wait
is ρ, which only (k+1)/2 gives. An operator that gets more than it can take (ρ ≥ 1) makes records wait for ever, which
is a number and no error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_BUSY = 0.7
"""Utilisation from which on the other of the two approximations holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """An operator as a queue with instances that serve it.

    >>> Station(arrival_rate=2.0, service_rate=1.0, arrival_scv=2.25, service_scv=0.25).response_s(3)
    1.5555555555555554
    """

    arrival_rate: float
    """Records per second."""
    service_rate: float
    """Records per second of one instance while it works."""
    arrival_scv: float = 1.0
    """Squared coefficient of variation of the times between arrivals; 1 of a Poisson process."""
    service_scv: float = 1.0
    """That of the service times; 1 if they are exponential, 0 if they are all the same."""

    def utilization(self, instances: int) -> float:
        """Share of the instances' time that the arrivals fill; 1 and more is too much."""
        if self.arrival_rate <= 0:
            return 0.0
        capacity = instances * self.service_rate
        return self.arrival_rate / capacity if capacity > 0 else math.inf

    def waits(self, instances: int) -> float:
        """Probability that a record finds all instances busy."""
        busy = self.utilization(instances)
        if busy >= 1:
            return 1.0
        return float((busy**instances + busy) / 2 if busy >= _BUSY else busy ** ((instances + 1) / 2))

    def response_s(self, instances: int) -> float:
        """Mean time from a record's arrival to its end."""
        if self.service_rate <= 0 or instances < 1:
            return math.inf
        busy, service_s = self.utilization(instances), 1 / self.service_rate
        if busy >= 1:
            return math.inf
        spread = (self.arrival_scv + self.service_scv) / (2 * instances)
        return service_s + spread * self.waits(instances) * service_s / (1 - busy)

    def fewest(self, within_s: float, *, most: int) -> int | None:
        """The fewest instances with a mean response within so many seconds; ``None`` if not even the most have it."""
        return next((k for k in range(1, most + 1) if self.response_s(k) <= within_s), None)
