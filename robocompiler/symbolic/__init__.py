"""The CasADi intermediate representation: SE(3), joint models, closures, tree kinematics."""
