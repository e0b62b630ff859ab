"""Loading compiled libraries (cffi and numpy only), assembly and continuation."""
