"""`robocompile check`: a compiled library against independent references."""
