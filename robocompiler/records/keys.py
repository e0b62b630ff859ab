"""The keys of each record, and the keys that would author structure and are therefore refused everywhere."""

from __future__ import annotations

TOP_KEYS = (
    "robocompiler", "name", "gravity", "bodies", "joints", "couplings", "ports", "drives", "frames", "supports",
    "parameters", "reference", "scales",
)  # fmt: skip
BODY_KEYS = ("mass", "com", "inertia")
ROTATION_KEYS = ("rpy", "quat", "matrix")
PLACEMENT_KEYS = ("body", "xyz", *ROTATION_KEYS)
JOINT_KEYS = ("type", "a", "b", "axis", "axis2", "pitch", "limits", "armature", "damping", "friction")
JOINT_LIMIT_KEYS = ("position", "velocity", "effort")
COUPLING_KEYS = ("terms", "constant", "expression")
PORT_KINDS = ("joint", "terms", "distance")
PORT_KEYS = (*PORT_KINDS, "limits")
PORT_LIMIT_KEYS = ("displacement", "velocity", "effort")
DRIVE_KEYS = ("port", "commands", "states", "constants", "effort", "rates")
DRIVE_STATE_KEYS = ("initial", "unit")
DRIVE_COMMAND_KEYS = ("unit",)
POINT_KEYS = ("body", "xyz")
CONTACTS = ("weld", "point")
PARAMETER_KEYS = ("default",)
REFERENCE_KEYS = ("joints", "base")
BASE_KEYS = ("body", "xyz", "quat", "rpy")
SCALE_KEYS = ("length",)

PREFERENCE_KEYS = frozenset(("independent", "independents", "dependent", "dependents"))
STRUCTURE_KEYS = PREFERENCE_KEYS | frozenset((
    "tree", "trees", "spanning_tree", "forest", "parent", "parents", "child", "children", "root", "roots", "cut",
    "cuts", "chord", "chords", "loop", "loops", "loop_closure", "loop_closures", "path", "paths", "partition",
    "partitions", "module", "modules", "order", "ordering", "coordinate_order",
))  # fmt: skip


def structure_message(key: str) -> str | None:
    """Why `key` is refused when it would author structure, else None."""
    lowered = key.lower()
    if lowered in PREFERENCE_KEYS:
        return (
            "the compiler derives which coordinates are independent; remove the key "
            "(a preference goes on the command line: --independent name,...)"
        )
    if lowered in STRUCTURE_KEYS:
        return (
            "the compiler derives the tree, cuts, loops, modules and coordinate order from the joints; remove the key"
        )
    return None
