"""Controller, agent and person reach each other: JSON over HTTP on the loopback address, with a token.

An ``AgentServer`` stands beside the agent in the driver, a ``RemoteAgent`` in a controller that is a
process of its own; a ``ControlServer`` stands beside a controller, a ``ControlClient`` in a person's
terminal; the registry is how they find each other on one machine.
"""

from headgate.link.agent import AgentServer, RemoteAgent
from headgate.link.controls import ControlClient, ControlServer
from headgate.link.following import FollowedAgent
from headgate.link.registry import (
    Registration,
    Role,
    RunningPart,
    file_name,
    find,
    lease_path,
    register,
    registry_folder,
    running,
    state_home,
)
from headgate.link.server import check_port

__all__ = [
    "AgentServer",
    "ControlClient",
    "ControlServer",
    "FollowedAgent",
    "Registration",
    "RemoteAgent",
    "Role",
    "RunningPart",
    "check_port",
    "file_name",
    "find",
    "lease_path",
    "register",
    "registry_folder",
    "running",
    "state_home",
]
