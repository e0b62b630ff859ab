"""From symbolic programs to C text, libraries and the manifest."""
