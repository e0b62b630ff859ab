"""The page: sliders, the drive button and the status panel, wired to a driver and a drawing on a viser server."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from robocompiler.runtime.robot import Robot
from robocompiler.viewer.commands import BASE, COORDINATE, PORT, Command
from robocompiler.viewer.drawing import BODIES, CHORD_FRAMES, HIDDEN, LABELS, Drawing
from robocompiler.viewer.driving import Driver, State
from robocompiler.viewer.panel import notes_html, panel_html
from robocompiler.viewer.scene import Poses, Scene
from robocompiler.viewer.status import Gauge
from robocompiler.viewer.sweep import Stop, sweep

FOLDERS = {PORT: "Ports", COORDINATE: "Free coordinates", BASE: "Free root"}
RATE = 30.0  # pictures per second of a drive
MANY = 12  # chords beyond which their names start hidden
SAME = 1e-9  # of a command's range: a slider that shows this is where the state is


def body_poses(robot: Robot, state: State, scene: Scene) -> Poses:
    """(R, p) of every body."""
    return {body: robot.pose(body, state.q) for body in scene.bodies}


def slider_step(command: Command) -> float:
    """A power of ten, at most a 500th of the range."""
    return float(10 ** math.floor(math.log10((command.upper - command.lower) / 500)))


class Page:
    """One robot on one server.  Callbacks come from the server's threads; `state` changes under a lock.

    Attributes:
        state: the configuration that is shown.
        message: what the last refused move or drive came to.
        body_choice: how bodies are drawn, where the model has visuals; else None.
    """

    def __init__(self, server: Any, driver: Driver, scene: Scene) -> None:
        self._server, self._driver, self._scene = server, driver, scene
        self._gauge = Gauge(driver.robot)
        self._lock = threading.RLock()  # of the state
        self._turn = threading.Lock()  # of who starts or ends a drive
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.state = driver.start()
        self.message = ""
        self.body_choice: Any = None
        server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
        server.gui.set_panel_label(driver.robot.name)
        self._drawing = Drawing(server, scene)
        self._panel = server.gui.add_html("")
        self._drive_controls()
        self._sliders = self._add_sliders()
        self._layer_controls()
        self._show(())

    @property
    def robot(self) -> Robot:
        """The robot that is shown."""
        return self._driver.robot

    # --- building ---

    def _add_sliders(self) -> list[Any]:
        handles: list[Any] = [None] * len(self._driver.commands)
        for kind, title in FOLDERS.items():
            members = [k for k, command in enumerate(self._driver.commands) if command.kind == kind]
            if not members:
                continue
            units = {self._driver.commands[k].unit for k in members}
            common = len(units) == 1
            with self._server.gui.add_folder(f"{title} ({units.pop()})" if common and "" not in units else title):
                for k in members:
                    handles[k] = self._add_slider(k, common)
        return handles

    def _add_slider(self, index: int, bare: bool) -> Any:
        command = self._driver.commands[index]
        source = "its limits" if command.limited else "no limits in the records"
        unit = command.unit or "in the unit of its terms"
        handle = self._server.gui.add_slider(
            command.name if bare or not command.unit else f"{command.name} ({command.unit})",
            min=command.lower,
            max=command.upper,
            step=slider_step(command),
            initial_value=self._clipped(index),
            marks=((command.lower, f"{command.lower:.3g}"), (command.upper, f"{command.upper:.3g}")),
            hint=f"{command.name}, {command.lower:.4g} to {command.upper:.4g} {unit}: {source}",
        )
        handle.on_update(lambda event: self._moved(index, event))
        return handle

    def _drive_controls(self) -> None:
        gui = self._server.gui
        names = tuple(command.name for command in self._driver.commands)
        with gui.add_folder("Drive"):
            if names:
                self._choice = gui.add_dropdown("joint or port", names)
                button = gui.add_button("Drive through its range", color=(0, 114, 178))
                button.on_click(lambda _: self.drive(names.index(self._choice.value)))
                gui.add_button("Stop", color="gray").on_click(lambda _: self.stop())
            gui.add_button("Back to the reference", color="gray").on_click(lambda _: self.reset())

    def _layer_controls(self) -> None:
        many = len(self._scene.chords) > MANY
        visuals = self._scene.visuals
        if visuals.notes:
            with self._server.gui.add_folder("Not drawn", expand_by_default=False):
                self._server.gui.add_html(notes_html(visuals.notes))
        with self._server.gui.add_folder("Show", expand_by_default=False):
            if visuals.items:
                self.body_choice = self._server.gui.add_dropdown("bodies", BODIES)
                self.body_choice.on_update(lambda event: self._drawing.show_bodies(event.target.value))
                self._drawing.show_bodies(self.body_choice.value)
            for layer in self._drawing.layers():
                shown = layer not in HIDDEN and not (many and layer in (LABELS, CHORD_FRAMES))
                box = self._server.gui.add_checkbox("chord names" if layer == LABELS else layer, shown)
                box.on_update(lambda event, layer=layer: self._drawing.set_visible(layer, event.target.value))
                self._drawing.set_visible(layer, shown)

    # --- moving ---

    def _moved(self, index: int, event: Any) -> None:
        """A person moved a slider; values that this page sets itself come without a client."""
        if event.client is None:
            return
        self.stop()
        with self._lock:
            handle, tried = self._sliders[index], math.nan
            while not self._shows(index) and handle.value != tried:  # the slider may have gone on meanwhile
                tried = float(handle.value)
                self._go(index, tried)
            self._sync()

    def move(self, index: int, target: float) -> None:
        """Take command `index` to `target`, as its slider does; a refusal becomes the message."""
        self.stop()
        with self._lock:
            self._go(index, target)
            self._sync()

    def _go(self, index: int, target: float) -> None:
        found = self._driver.move(self.state, index, target)
        self.state = found.state
        self.message = f"Refused. {found.refusal.message}." if found.refusal else ""
        self._show(found.state.corrected if found.refusal is None else ())

    def reset(self) -> None:
        """Back to the reference."""
        self.stop()
        with self._lock:
            self.state, self.message = self._driver.start(), ""
            self._show(())
            self._sync()

    def drive(self, index: int) -> None:
        """Start to drive command `index` through its range, in a thread of its own."""
        with self._turn:
            self._end()
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(index, self._stop), daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End a drive; the robot stays where it is."""
        with self._turn:
            self._end()

    def _end(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def driving(self) -> bool:
        """Whether a drive is under way."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self, index: int, stop: threading.Event) -> None:
        told = [f"Driving {self._driver.commands[index].name}."]
        due = time.monotonic()
        for found in sweep(self._driver, self.state, index):
            if stop.is_set():
                return
            with self._lock:
                if isinstance(found, Stop):
                    told.append(f"{found.message[0].upper()}{found.message[1:]}.")
                    self.message = "\n".join(told)
                    self._show(())
                else:
                    self.state, self.message = found, "\n".join(told)
                    self._show(found.corrected)
                self._sync()
            due = max(due + 1 / RATE, time.monotonic())
            stop.wait(max(0.0, due - time.monotonic()))

    # --- showing ---

    def _show(self, corrected: tuple[str, ...]) -> None:
        self._drawing.show(body_poses(self._driver.robot, self.state, self._scene))
        status = self._gauge(self.state.q)
        self._panel.content = panel_html(status, self._scene.modules, corrected, self.message)

    def _sync(self) -> None:
        """Sliders to where the state is."""
        with self._server.atomic():
            for index, handle in enumerate(self._sliders):
                if not self._shows(index):
                    handle.value = self._clipped(index)

    def _shows(self, index: int) -> bool:
        command = self._driver.commands[index]
        return bool(abs(self._sliders[index].value - self._clipped(index)) <= SAME * (command.upper - command.lower))

    def _clipped(self, index: int) -> float:
        command = self._driver.commands[index]
        return min(max(float(self.state.values[index]), command.lower), command.upper)
