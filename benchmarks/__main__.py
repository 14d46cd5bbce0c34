"""``make bench``: everything that is promised to be fast, measured on this machine.

python -m benchmarks [NAME…]
"""

from __future__ import annotations

import sys

from benchmarks import (
    attachment,
    capacity,
    consumers,
    decisions,
    forecasting,
    groups,
    journals,
    memory,
    operator_graphs,
    packing,
    parallelism,
    production,
    seamlessness,
    selectivities,
    simulations,
    starts,
)

MEASUREMENTS = {
    "decisions": decisions.run,
    "operator-graphs": operator_graphs.run,
    "packing": packing.run,
    "memory": memory.run,
    "capacity": capacity.run,
    "forecasting": forecasting.run,
    "simulations": simulations.run,
    "journals": journals.run,
    "attachment": attachment.run,
    "production": production.run,
    "parallelism": parallelism.run,
    "selectivities": selectivities.run,
    "seamlessness": seamlessness.run,
    "starts": starts.run,
    "consumers": consumers.run,
    "groups": groups.run,
}


def main() -> None:
    names = sys.argv[1:] or list(MEASUREMENTS)
    for name in names:
        if name not in MEASUREMENTS:
            sys.exit(f"there is no measurement '{name}'; known: {', '.join(MEASUREMENTS)}")
    for name in names:
        print(f"\n{name}", flush=True)
        MEASUREMENTS[name]()


main()
