"""``headgate demo``: a real Spark cluster on this machine, a stream that swells and ebbs, a policy, a report."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import FILE, RATE
from headgate.cli.session import run_app
from headgate.config import AppFile, ClusterTable, ControllerTable, StreamTable
from headgate.errors import UserMistake

_WORKLOAD = "sine:period=85s,low=0.04,phase=0.75"
_POLICY = "hpa:target=0.65,initialization_s=3,down_stabilization_s=10,period_s=5,window_s=10"


@click.command(epilog="Example: headgate demo --policy threshold-busy:period_s=10 --folder out/demo")
@click.option("--policy", "-p", default=_POLICY, show_default=True)
@click.option("--workload", "-w", default=_WORKLOAD, show_default=True)
@click.option("--peak", type=RATE, default="6k", show_default=True, help="Records per second at the peak.")
@click.option("--minutes", type=RATE, default="3", show_default=True, help="How long the stream lasts.")
@click.option("--nodes", type=click.IntRange(2, 16), default=4, show_default=True)
@click.option("--separate-controller", is_flag=True, help="Run the controller as a process of its own.")
@click.option("--folder", type=FILE, default="out/demo", show_default=True, help="For journal, sink and report.")
@everywhere
def demo(
    *,
    policy: str,
    workload: str,
    peak: float,
    minutes: float,
    nodes: int,
    separate_controller: bool,
    folder: Path,
    output: Output,
) -> int:
    """Watch a real Spark stream size itself for three minutes, and check its sink."""
    _clear(folder)
    app = AppFile(
        name="demo",
        folder=folder.resolve(),
        cluster=ClusterTable(nodes=nodes),
        stream=StreamTable(
            workload=workload,
            peak=peak,
            duration_s=60 * minutes,
            partitions=2 * nodes,
            cost_us=250.0,
            trigger_s=2.0,
            seed=output.seed,
        ),
        controller=ControllerTable(
            policy=policy, executors=(1, nodes), process="separate" if separate_controller else "thread"
        ),
    )
    return run_app(app, page=None, output=output)


def _clear(folder: Path) -> None:
    """Remove an earlier demo, and nothing else that happens to be there."""
    if not folder.exists():
        return
    if folder.is_dir() and ((folder / "stream.json").exists() or not any(folder.iterdir())):
        shutil.rmtree(folder)
        return
    raise UserMistake(f"--folder {folder} is not an earlier demo's; give an empty or new folder")
