"""A cluster in virtual time behind the agent's port; knows nothing of models or policies."""

from headgate.sim.agent import SimulatedApp
from headgate.sim.calibration import calibrate
from headgate.sim.catalogue import SCENARIOS, load_scenario
from headgate.sim.clock import VirtualClock
from headgate.sim.scenario import (
    NodeScenario,
    OperatorScenario,
    Scenario,
    parse_scenario,
    scenario_schema,
    scenario_to_toml,
)

__all__ = [
    "SCENARIOS",
    "NodeScenario",
    "OperatorScenario",
    "Scenario",
    "SimulatedApp",
    "VirtualClock",
    "calibrate",
    "load_scenario",
    "parse_scenario",
    "scenario_schema",
    "scenario_to_toml",
]
