"""Independent references for tests and for `robocompile check`; they share no code with the compiler."""
