"""Mesh files of untrusted models: readers against trimesh, what is refused, and that nothing outside is found."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from import_support import imported
from visual_cases import CORNERS, FACES, VOLUME, obj_text, places, stl_bytes, stl_text, volume, write

from robocompiler.viewer import visuals as drawing
from robocompiler.viewer.mesh_files import read as reading
from robocompiler.viewer.mesh_files.locate import locate
from robocompiler.viewer.mesh_files.read import read_mesh
from robocompiler.viewer.mesh_files.refusal import MeshRefusedError
from robocompiler.viewer.visuals import drawn_visuals

# The tetrahedron in COLLADA: inches, a node turned and moved, one polygon list and one list of triangles.
DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="inch" meter="0.0254"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">{numbers}</float_array>
<technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist count="2"><input semantic="VERTEX" source="#v" offset="1"/><input semantic="NORMAL" source="#p" offset="0"/>
<vcount>3 3</vcount><p>0 0 0 2 0 1 0 0 0 1 0 3</p></polylist>
<triangles count="2"><input semantic="VERTEX" source="#v" offset="0"/><p>1 2 3 0 3 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>1 2 3</translate><rotate>0 0 1 90</rotate>
<node><scale>2 2 2</scale><instance_geometry url="#g"/></node></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def dae_text() -> str:
    return DAE.format(numbers=" ".join(str(x) for x in CORNERS.ravel()))


def glb_bytes(document: dict[str, Any] | None = None, blob: bytes = b"") -> bytes:
    """Binary glTF of the tetrahedron, under a node that is moved, turned and stretched; or of another document."""
    if document is None:
        blob = CORNERS.astype("<f4").tobytes() + FACES.astype("<u2").tobytes()
        document = {
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "buffers": [{"byteLength": len(blob)}],
            "nodes": [{"children": [1], "translation": [1, 2, 3], "rotation": [0, 0, 0.5**0.5, 0.5**0.5]},
                      {"mesh": 0, "scale": [2, 2, 2]}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3",
                           "min": [0, 0, 0], "max": [0.3, 0.2, 0.1]},
                          {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"}],
            "bufferViews": [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 24}],
        }  # fmt: skip
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = b"".join(len(c).to_bytes(4, "little") + kind + c for kind, c in ((b"JSON", text), (b"BIN\0", blob)))
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(chunks)).to_bytes(4, "little") + chunks


TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
PLACED = 2 * CORNERS @ TURN.T + [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "content", "corners"),
    [
        ("a.stl", stl_bytes(), CORNERS),
        ("solid.stl", stl_bytes(b"solid says nothing"), CORNERS),
        ("text.STL", stl_text(), CORNERS),
        ("a.obj", obj_text(), CORNERS),
        ("back.obj", "v 9 9 9\n" + obj_text().partition("vt")[0] + "f -4 -2 -3\nf -4//1 -3//1 -1\\\n\nf 3 4 5\nf 2 5 4",
         CORNERS),
        ("a.glb", glb_bytes(), PLACED),
        ("a.dae", dae_text(), 0.0254 * PLACED),
    ],
    ids=["binary STL", "binary STL called solid", "text STL", "OBJ", "OBJ from behind", "GLB", "DAE"],
)  # fmt: skip
def test_a_tetrahedron_is_read_from_every_format(tmp_path: Path, name: str, content: Any, corners: Any) -> None:
    path = write(tmp_path / name, content)
    mesh = read_mesh(path)
    np.testing.assert_allclose(places(mesh.vertices[mesh.faces.ravel()]), places(corners), atol=1e-6)
    size = (corners[1] - corners[0]) @ (corners[1] - corners[0]) / 0.09
    assert volume(mesh) == pytest.approx(VOLUME * size**1.5, rel=1e-5)
    if path.suffix == ".dae":  # trimesh would need more packages, and assimp leaves inches as they are
        coal = pytest.importorskip("coal", reason="comes with Pinocchio (the `verify` extra)")
        loaded = coal.MeshLoader().load(str(path), np.full(3, 0.0254))
        np.testing.assert_allclose(places(np.array(loaded.vertices())), places(corners), atol=1e-6)
    else:
        trimesh = pytest.importorskip("trimesh", reason="comes with viser (the `view` extra)")
        theirs = trimesh.load(path, force="mesh", process=False)
        used = np.asarray(theirs.vertices)[np.asarray(theirs.faces)].reshape(-1, 9)
        own = mesh.vertices[mesh.faces].reshape(-1, 9)
        np.testing.assert_allclose(own[np.lexsort(own.round(5).T)], used[np.lexsort(used.round(5).T)], atol=1e-6)


def broken_glb(**changes: Any) -> bytes:
    """The tetrahedron's document with other entries; a None takes one out."""
    data = glb_bytes()
    size = int.from_bytes(data[12:16], "little")
    document = json.loads(data[20 : 20 + size])
    document |= changes
    return glb_bytes(document, data[28 + size :])


LARGE = {"bufferView": 0, "componentType": 5126, "count": 10**12, "type": "VEC3"}
REFUSED = {
    "short.stl": (stl_bytes()[:-1], "is no STL"),
    "boast.stl": (b"\0" * 80 + b"\xff\xff\xff\xff" + b"\0" * 50, "is no STL"),
    "empty.stl": (b"", "is no STL"),
    "nothing.stl": ("solid x\nendsolid", "no triangles"),
    "odd.stl": ("solid x\n" + "vertex 0 0 0\n" * 4, "no whole number of triangles"),
    "word.stl": ("solid x\n" + "vertex 0 0 zero\n" * 3, "not a sound STL"),
    "nan.stl": ("solid x\n" + "vertex 0 0 nan\n" * 3, "not finite"),
    "far.stl": ("solid x\n" + "vertex 0 0 1e9\n" * 3, "beyond"),
    "line.obj": ("v 0 0 0\nf 1 1\n", "its line 2 has fewer than three corners"),
    "word.obj": ("v 0 0\n", "line 1 is no vertex"),
    "index.obj": ("v 0 0 0\nf 1 1 2\n", "not there"),
    "zero.obj": ("v 0 0 0\nf 0 1 1\n", "line 2 is no vertex or face"),
    "magic.glb": (b"glTG" + b"\0" * 40, "is not binary glTF"),
    "cut.glb": (glb_bytes()[:100], "not a sound GLB"),
    "list.glb": (glb_bytes([1]), "not a sound GLB"),  # type: ignore[arg-type]
    "count.glb": (broken_glb(accessors=[LARGE, LARGE]), "reaches beyond"),
    "zeros.glb": (broken_glb(accessors=[{"componentType": 5126, "count": 10**9, "type": "VEC3"}] * 2), "sparse"),
    "ring.glb": (broken_glb(nodes=[{"mesh": 0, "children": [0]}]), "no forest"),
    "shared.glb": (broken_glb(nodes=[{"children": [1, 1]}, {"mesh": 0}]), "no forest"),
    "other.glb": (broken_glb(buffers=[{"uri": "file:///etc/passwd", "byteLength": 72}]), "another file"),
    "doctype.dae": ('<!DOCTYPE a [<!ENTITY b "c">]><COLLADA/>', "document type"),
    "html.dae": ("<html/>", "is not COLLADA"),
    "other.dae": (dae_text().replace('url="#g"', 'url="http://a/b#g"'), "another file"),
    "index.dae": (dae_text().replace("1 2 3 0 3 2", "1 2 3 0 3 4"), "not there"),
    "minus.dae": (dae_text().replace("1 2 3 0 3 2", "1 2 3 0 3 -1"), "not there"),
    "counts.dae": (dae_text().replace("<vcount>3 3", "<vcount>3 4"), "does not fit"),
    "ring.dae": (dae_text().replace("</visual_scene>", '<instance_node url="#n"/></visual_scene>').replace(
        "<scene>", '<library_nodes><node id="n"><instance_node url="#n"/></node></library_nodes><scene>'),
        "nested too deeply"),
    "mesh.ply": ("ply", "'.ply' files are not read"),
    "passwd": ("root:x:0:0", "'passwd' files are not read"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_mesh_is_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    content, reason = REFUSED[name]
    with pytest.raises(MeshRefusedError, match=reason):
        read_mesh(write(tmp_path / name, content))


def test_bytes_cut_or_changed_anywhere_are_read_or_refused_and_never_more(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    outcomes = {"read": 0, "refused": 0}
    for name, content in (("a.stl", stl_bytes()), ("a.obj", obj_text().encode()), ("a.glb", glb_bytes()),
                          ("a.dae", dae_text().encode()), ("b.stl", stl_text().encode())):  # fmt: skip
        for k in range(50):
            data = bytearray(content)
            data[random.integers(0, len(data))] = random.integers(0, 256)
            end = len(data) if k % 2 else random.integers(len(data) // 2, len(data))
            path = write(tmp_path / name, bytes(data[:end]))
            try:
                mesh = read_mesh(path)
                assert mesh.faces.max() < len(mesh.vertices)
                outcomes["read"] += 1
            except MeshRefusedError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 20


def test_files_and_scenes_beyond_the_bounds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a.stl": stl_bytes(), "b.stl": stl_text(), "a.obj": obj_text(), "a.glb": glb_bytes(), "a.dae": dae_text()}
    monkeypatch.setattr(reading, "MAXIMUM_TRIANGLES", 3)
    for name, content in files.items():
        with pytest.raises(MeshRefusedError, match=r"4 triangles; at most 3|more than 3 triangles"):
            read_mesh(write(tmp_path / name, content))
    monkeypatch.setattr(reading, "MAXIMUM_BYTES", 100)
    with pytest.raises(MeshRefusedError, match="the most that is read"):
        read_mesh(tmp_path / "a.stl")
    monkeypatch.undo()
    monkeypatch.setattr(drawing, "MAXIMUM_TRIANGLES", 9)
    links = "".join(f'<link name="l{k}">{MESH.format("a.stl")}</link>' for k in range(3))
    drawn = drawn_visuals(imported(tmp_path, tied(links)).visuals)
    assert [item.body for item in drawn.items] == ["l0", "l1"]
    (note,) = drawn.notes
    assert "all visuals together have more than 9 triangles" in note
    assert drawn.covered == {"l0", "l1"}


# --- where files may lie ---

MESH = '<visual><geometry><mesh filename="{}"/></geometry></visual>'


def tied(links: str) -> str:
    """A robot of links l0, l1, ... on one another's end."""
    count = links.count("<link")
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l0"/><child link="l{k}"/></joint>' for k in range(1, count)
    )
    return f'<robot name="r">{links}{joints}</robot>'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """ws/arm_description (package.xml states `arm`) with urdf/ and meshes/, and things outside it."""
    package = tmp_path / "a/b/ws/arm_description"
    write(package / "package.xml", "<package><name> arm </name></package>")
    write(package / "urdf/robot.urdf", "")
    write(package / "urdf/beside.stl", stl_bytes())
    write(package / "urdf/inner/deep.stl", stl_bytes())
    write(package / "meshes/part.stl", stl_bytes())
    write(package.parent / "other/part.stl", stl_bytes())
    write(tmp_path / "secret.stl", stl_bytes())
    return package


@pytest.mark.parametrize(
    ("uri", "where"),
    [
        ("beside.stl", "urdf/beside.stl"),
        ("./inner/../beside.stl", "urdf/beside.stl"),
        ("inner\\deep.stl", "urdf/inner/deep.stl"),
        ("file://inner/deep.stl", "urdf/inner/deep.stl"),
        ("../meshes/part.stl", "meshes/part.stl"),
        ("package://arm/meshes/part.stl", "meshes/part.stl"),
        ("package://arm_description/meshes/part.stl", "meshes/part.stl"),
        ("package://inner/deep.stl", "urdf/inner/deep.stl"),
        ("model://arm_description/meshes/part.stl", "meshes/part.stl"),
    ],
)
def test_a_mesh_is_found_in_the_models_folder_and_its_package(tree: Path, uri: str, where: str) -> None:
    assert locate(uri, tree / "urdf/robot.urdf") == (tree / where).resolve()


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("missing.stl", "no such file"),
        ("inner", "no such file"),
        ("package://arm/meshes/none.stl", "no such file"),
        ("../../other/part.stl", "leads out"),
        ("../../../../../secret.stl", "leads out"),
        ("package://arm/../other/part.stl", "leads out"),
        ("package://other/part.stl", "no folder around the model is the package 'other'"),
        ("package://../other/part.stl", "no folder around"),
        ("package:///part.stl", "no folder around"),
        ("/etc/passwd", "leads out"),
        ("file:///etc/passwd", "leads out"),
        ("http://127.0.0.1/part.stl", "http:// is not fetched"),
        ("", "names no file"),
        ("a\0.stl", "names no file"),
        ("~/secret.stl", "no such file"),
        ("x" * 5000 + ".stl", "cannot be looked for"),
        ("package://" + "x" * 5000 + "/a.stl", "cannot be looked for"),
    ],
)
def test_what_lies_elsewhere_is_refused(tree: Path, uri: str, reason: str) -> None:
    with pytest.raises(MeshRefusedError, match=reason):
        locate(uri, tree / "urdf/robot.urdf")


def test_absolute_paths_count_only_inside(tree: Path, tmp_path: Path) -> None:
    model = tree / "urdf/robot.urdf"
    assert locate(str(tree / "meshes/part.stl"), model) == (tree / "meshes/part.stl").resolve()
    assert locate(f"file://{tree / 'urdf/beside.stl'}", model) == (tree / "urdf/beside.stl").resolve()
    with pytest.raises(MeshRefusedError, match="leads out"):
        locate(str(tmp_path / "secret.stl"), model)


def test_links_lead_nowhere_outside(tree: Path, tmp_path: Path) -> None:
    model = tree / "urdf/robot.urdf"
    (tree / "urdf/link.stl").symlink_to(tmp_path / "secret.stl")
    (tree / "urdf/up").symlink_to(tmp_path)
    (tree / "urdf/inside.stl").symlink_to(tree / "meshes/part.stl")
    (tree / "urdf/ring.stl").symlink_to(tree / "urdf/ring.stl")
    for uri, reason in (
        ("link.stl", "leads out"),
        ("up/secret.stl", "leads out"),
        ("package://up/secret.stl", "no folder around"),
        ("package://arm/urdf/link.stl", "leads out"),
    ):
        with pytest.raises(MeshRefusedError, match=reason):
            locate(uri, model)
    with pytest.raises(MeshRefusedError):
        locate("ring.stl", model)
    assert locate("inside.stl", model) == (tree / "meshes/part.stl").resolve()


def test_a_home_folder_is_no_package_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "ada"
    write(home / "secret.stl", stl_bytes())
    write(home / "package.xml", "<package><name>ada</name></package>")
    model = write(home / "download/robot.urdf", "")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    with pytest.raises(MeshRefusedError, match="no folder around"):
        locate("package://ada/secret.stl", model)
    with pytest.raises(MeshRefusedError, match="leads out"):
        locate("../secret.stl", model)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in folders are of POSIX")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.stl")
    with pytest.raises(MeshRefusedError, match="not a regular file"):
        read_mesh(tmp_path / "pipe.stl")
    with pytest.raises(MeshRefusedError, match="no such file"):
        locate("pipe.stl", tmp_path / "robot.urdf")


def test_a_mesh_that_fails_is_told_once_with_its_line_and_leaves_the_bars(tmp_path: Path) -> None:
    write(tmp_path / "good.stl", stl_bytes())
    write(tmp_path / "bad.stl", b"nothing")
    names = ("good.stl", "bad.stl", "bad.stl", "../../out.stl", "missing.stl")
    links = "".join(f'\n<link name="l{k}">{MESH.format(name)}{MESH.format("good.stl")}</link>'
                    for k, name in enumerate(names))  # fmt: skip
    drawn = drawn_visuals(imported(tmp_path, tied(links)).visuals)
    assert drawn.covered == {"l0"}
    assert [item.body for item in drawn.items] == ["l0", "l0", "l1", "l2", "l3", "l4"]
    assert len(drawn.notes) == 3
    for note, line, words in zip(
        drawn.notes, (3, 5, 6), ("'bad.stl' is not drawn: is no STL", "leads out", "no such file"), strict=True
    ):
        assert note.startswith(f"{tmp_path / 'robot.urdf'}:{line}: ")
        assert words in note


def test_what_is_too_far_away_for_a_picture_is_told(tmp_path: Path) -> None:
    write(tmp_path / "good.stl", stl_bytes())
    shapes = (
        '<mesh filename="good.stl" scale="1e308 1 1"/>',
        '<sphere radius="1e308"/>',
        '<mesh filename="good.stl"/>',
    )
    links = "".join(f'<link name="l{k}"><visual><geometry>{shape}</geometry></visual></link>'
                    for k, shape in enumerate(shapes)) + (
        '<link name="l3"><visual><origin xyz="1e200 0 0"/><geometry><box size="1 1 1"/></geometry></visual></link>'
    )  # fmt: skip
    drawn = drawn_visuals(imported(tmp_path, tied(links)).visuals)
    assert drawn.covered == {"l2"}
    assert len(drawn.notes) == 2  # the mesh, and the shapes, which share their reason
    assert all("reaches beyond 1e+06 m" in note for note in drawn.notes)


def test_a_package_that_is_not_there_is_told_once_for_all_its_meshes(tmp_path: Path) -> None:
    links = "".join(f'\n<link name="l{k}">{MESH.format(f"package://away/{k}.stl")}</link>' for k in range(3))
    (note,) = drawn_visuals(imported(tmp_path, tied(links)).visuals).notes
    assert note.startswith(f"{tmp_path / 'robot.urdf'}:2: ")
    assert "the package 'away'" in note
    assert note.endswith("(3 visuals, first here)")


def test_importing_opens_no_mesh(tmp_path: Path) -> None:
    write(tmp_path / "good.stl", stl_bytes())
    opened: list[str] = []
    watching = True

    def hook(event: str, details: tuple[Any, ...]) -> None:  # hooks stay for good, so that this one has a switch
        if watching and event == "open":
            opened.append(Path(str(details[0])).name)

    sys.addaudithook(hook)
    found = imported(tmp_path, tied(f'<link name="l0">{MESH.format("good.stl")}</link>'))
    assert "robot.urdf" in opened
    assert "good.stl" not in opened
    assert len(drawn_visuals(found.visuals).items) == 1
    watching = False
    assert opened.count("good.stl") == 1
