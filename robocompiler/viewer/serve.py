"""From a compiled robot and its records to a page on this machine."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import sys
import webbrowser
from collections.abc import Iterator
from typing import Any

from robocompiler.errors import MissingPackageError
from robocompiler.graph.topology import Topology
from robocompiler.runtime.robot import Robot
from robocompiler.viewer.driving import Driver
from robocompiler.viewer.page import Page
from robocompiler.viewer.scene import Scene, describe
from robocompiler.viewer.visuals import DrawnVisuals

LOCAL = "127.0.0.1"


def import_viser() -> Any:
    """viser, or MissingPackageError that says how to get it."""
    try:
        import viser
    except ImportError as error:
        raise MissingPackageError("`robocompile view` needs viser: pip install 'robocompiler[view]'") from error
    return viser


def scene_of(robot: Robot, topology: Topology, visuals: DrawnVisuals | None = None) -> Scene:
    """What is drawn of a compiled robot whose records have this topology, with its visuals."""
    bodies = [body.name for body in topology.mechanism.bodies]
    return describe(topology, robot.modules, {body: robot.pose(body, robot.reference) for body in bodies}, visuals)


def free_port(host: str) -> int:
    """A TCP port that nobody listens on."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def check_port(host: str, port: int) -> None:
    """OSError if `port` cannot be listened on."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))


@contextlib.contextmanager
def page(
    robot: Robot,
    topology: Topology,
    host: str = LOCAL,
    port: int | None = None,
    visuals: DrawnVisuals | None = None,
) -> Iterator[tuple[Page, str]]:
    """A served page of a robot and its address; the server ends with the context.

    visuals: shapes of the imported file on its bodies.

    Raises MissingPackageError without viser, OSError for a port that is taken, RankError for a chart that is singular
    at the reference.
    """
    viser = import_viser()
    driver = Driver(robot)
    scene = scene_of(robot, topology, visuals)
    if port is not None:
        check_port(host, port)
    with contextlib.redirect_stdout(io.StringIO()):  # viser prints its own banner whatever it is told
        server = viser.ViserServer(host=host, port=free_port(host) if port is None else port, verbose=False)
    try:
        shown = Page(server, driver, scene)
        name = f"[{host}]" if ":" in host else host
        yield shown, f"http://{name}:{server.get_port()}"
        shown.stop()
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


def open_browser(address: str) -> bool:
    """Open the user's browser where there is a display; False where there is none, or no browser."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # a browser in the terminal would be found, and cannot draw
    return webbrowser.open(address)
