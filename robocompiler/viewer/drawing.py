"""The scene as nodes of a viser server: one frame per body, one mesh per body, layer and colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.records.model import WORLD
from robocompiler.records.rotations import quaternion_of_rotation
from robocompiler.viewer.meshes import Mesh, merged, mesh_of
from robocompiler.viewer.scene import COVERED, INERTIAS, VISUALS, Scene, Strut, strut_pose
from robocompiler.viewer.shapes import Cylinder, Rows, rows, triple

Array = NDArray[np.float64]
Poses = Mapping[str, tuple[Array, Array]]

CHORD_FRAMES, LABELS, FRAMES = "chord frames", "labels", "named frames"
SHORTEST = 1e-6  # m: a node cannot have no length
STILL = 1e-12  # a body that moves by less is not sent again
VIEW = (0.38, -0.76, 0.34)  # from the mechanism's middle towards the camera, in extents
ASIDE = (0.16, 0.08, 0.0)  # what the camera looks at, beside the middle: the panel covers the right
ROD_COLOUR = "#9aa5b1"


def rgb(colour: str) -> tuple[int, int, int]:
    """'#rrggbb' as three bytes."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


class Drawing:
    """Nodes of one scene on a server, grouped in layers that can be hidden."""

    def __init__(self, server: Any, scene: Scene) -> None:
        self._server, self._scene = server, scene
        self._nodes = {name: f"/robot/{k}" for k, name in enumerate((WORLD, *scene.bodies))}
        self._frames = {name: server.scene.add_frame(node, show_axes=False) for name, node in self._nodes.items()}
        self._layers: dict[str, list[Any]] = {}
        self._last: dict[str, tuple[Array, Array]] = {}
        self._struts: list[tuple[Strut, Any, Any, Any]] = []
        self._surroundings()
        self._add_parts()
        self._add_visuals()
        self._add_struts()
        self._add_chords()
        self._add_frames()

    def show(self, poses: Poses) -> None:
        """Move the bodies to (R, p) in the world; only what moved is sent."""
        moved = {body for body, pose in poses.items() if self._moved(body, pose)}
        with self._server.atomic():
            for body in moved:
                R, p = poses[body]
                self._frames[body].wxyz = quaternion_of_rotation(rows(R))
                self._frames[body].position = triple(p)
                self._last[body] = poses[body]
            for strut, frame, rod, barrel in self._struts:
                if strut.body_a in moved or strut.body_b in moved:
                    pose, length = strut_pose(strut, poses)
                    frame.wxyz, frame.position = quaternion_of_rotation(pose.rotation), pose.position
                    rod.scale = (1.0, 1.0, max(length, SHORTEST))
                    barrel.scale = (1.0, 1.0, max(min(strut.barrel, length), SHORTEST))

    def layers(self) -> tuple[str, ...]:
        """Names of the layers that hold anything, but for those that `show_bodies` rules."""
        return tuple(layer for layer in self._layers if layer not in (COVERED, VISUALS))

    def show_bodies(self, choice: str) -> None:
        """Draw bodies as one of BODIES: by the file's visuals, by bars between their joints, or by both.

        Bars of bodies without visuals, or with one that cannot be drawn, always belong to the layer of links.
        """
        self.set_visible(VISUALS, choice != SHAPES)
        self.set_visible(COVERED, choice != VISUALS)

    def set_visible(self, layer: str, visible: bool) -> None:
        """Show or hide a layer."""
        with self._server.atomic():
            for node in self._layers.get(layer, ()):
                node.visible = visible

    def _moved(self, body: str, pose: tuple[Array, Array]) -> bool:
        last = self._last.get(body)
        if last is None:
            return True
        return max(float(np.abs(new - old).max()) for new, old in zip(pose, last, strict=True)) > STILL

    # --- what stands in the scene ---

    def _surroundings(self) -> None:
        scene, size = self._server.scene, self._scene.size
        scene.set_up_direction("+z")
        scene.configure_fog(size, 2 * size, enabled=False)
        scene.configure_environment_map(None)
        scene.add_light_hemisphere("/light", sky_color=(255, 255, 255), ground_color=(150, 150, 160), intensity=2.2)
        scene.configure_default_lights(cast_shadow=False)  # they cost more than all the rest without a GPU
        cell = 10 ** np.floor(np.log10(size / 4))
        scene.add_grid("/grid", 3 * size, 3 * size, cell_size=cell, section_size=5 * cell, cell_color=(236, 239, 243),
                       section_color=(214, 220, 227), position=(*self._scene.centre[:2], self._ground()))  # fmt: skip
        scene.add_frame("/world", axes_length=0.08 * size, axes_radius=0.0025 * size)
        centre = np.array(self._scene.centre)
        camera = self._server.initial_camera
        aim = centre + size * np.array(ASIDE)
        camera.look_at = triple(aim)
        camera.position = triple(aim + size * np.array(VIEW))

    def _ground(self) -> float:
        """Height of the grid: the world's origin, or below a mechanism that hangs lower."""
        return min(0.0, self._scene.centre[2] - 0.5 * self._scene.size)

    def _add(self, layer: str, node: Any) -> None:
        self._layers.setdefault(layer, []).append(node)

    def _add_parts(self) -> None:
        groups: dict[tuple[str, str, str, float], list[Any]] = {}
        for part in self._scene.parts:
            groups.setdefault((part.body, part.layer, part.colour, part.opacity), []).append(part.shape)
        for k, ((body, layer, colour, opacity), shapes) in enumerate(groups.items()):
            mesh = merged([mesh_of(shape) for shape in shapes])
            node = self._server.scene.add_mesh_simple(
                f"{self._nodes[body]}/{k}",
                mesh.vertices.astype(np.float32),
                mesh.faces,
                color=rgb(colour),
                opacity=None if opacity >= 1 else opacity,
            )
            self._add(layer, node)

    def _add_visuals(self) -> None:
        groups: dict[tuple[str, str, float], list[Mesh]] = {}
        for item in self._scene.visuals.items:
            groups.setdefault((item.body, item.colour, item.opacity), []).append(item.mesh)
        for k, ((body, colour, opacity), meshes) in enumerate(groups.items()):
            mesh = merged(meshes)
            node = self._server.scene.add_mesh_simple(
                f"{self._nodes[body]}/visual_{k}",
                mesh.vertices.astype(np.float32),
                mesh.faces,
                color=rgb(colour),
                opacity=None if opacity >= 1 else opacity,
                flat_shading=True,  # files that share corners across edges would look inflated
                side="double",  # triangles of files do not always face outward
            )
            self._add(VISUALS, node)

    def _add_struts(self) -> None:
        for k, strut in enumerate(self._scene.struts):
            frame = self._server.scene.add_frame(f"/struts/{k}", show_axes=False)
            rod, barrel = (
                self._strut_mesh(f"/struts/{k}/{name}", part * strut.radius, colour)
                for name, part, colour in (("rod", 0.55, ROD_COLOUR), ("barrel", 1.0, strut.colour))
            )
            self._struts.append((strut, frame, rod, barrel))
            self._add(strut.layer, rod)
            self._add(strut.layer, barrel)

    def _strut_mesh(self, node: str, radius: float, colour: str) -> Any:
        """A cylinder of length 1 along z, to be scaled."""
        bar = mesh_of(Cylinder((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), radius))
        vertices = bar.vertices.astype(np.float32)
        return self._server.scene.add_mesh_simple(node, vertices, bar.faces, color=rgb(colour))

    def _add_chords(self) -> None:
        for k, chord in enumerate(self._scene.chords):
            sides = ((chord.body_a, chord.frame_a, 1.0), (chord.body_b, chord.frame_b, 0.7))
            for side, (body, frame, length) in zip("ab", sides, strict=True):
                self._triad(CHORD_FRAMES, f"{self._nodes[body]}/chord_{k}_{side}", frame.rotation, frame.position,
                            length * chord.size)  # fmt: skip
            node = f"{self._nodes[chord.body_a]}/label_{k}"
            label = self._server.scene.add_label(
                node, chord.joint, position=chord.frame_a.position, anchor="bottom-left", font_screen_scale=0.85
            )
            self._add(LABELS, label)

    def _add_frames(self) -> None:
        for k, frame in enumerate(self._scene.frames):
            node = f"{self._nodes[frame.body]}/frame_{k}"
            self._triad(FRAMES, node, frame.pose.rotation, frame.pose.position, 5 * self._scene.unit)
            self._add(FRAMES, self._server.scene.add_label(f"{node}/name", frame.name, anchor="bottom-left"))

    def _triad(self, layer: str, node: str, rotation: Rows, position: tuple[float, float, float], size: float) -> None:
        handle = self._server.scene.add_frame(
            node, axes_length=size, axes_radius=0.06 * size, wxyz=quaternion_of_rotation(rotation), position=position
        )
        self._add(layer, handle)


SHAPES, BOTH = "shapes", "both"
BODIES = (VISUALS, SHAPES, BOTH)  # how bodies are drawn, where a file has visuals
HIDDEN = (INERTIAS, FRAMES)  # at the start; labels too, where there are many chords
