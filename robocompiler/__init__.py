"""RoboCompiler: closed-chain robots, written as graphs of physical records, compiled to exact and fast C."""
