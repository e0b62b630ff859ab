"""Records to the formats of other tools: MJCF, URDF, DOT, and a Pinocchio model."""
