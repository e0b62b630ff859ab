"""The version of RoboCompiler, and of the contract between compiled libraries and the runtime."""

VERSION = "0.1.0"
ABI = 1
