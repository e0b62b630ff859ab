"""Small numpy-only algorithms shared by the compiler and the runtime: rank gaps, Newton correction, continuation."""
