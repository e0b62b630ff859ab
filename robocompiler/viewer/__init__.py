"""`robocompile view`: what is drawn (`scene`), how it moves (`driving`), how it fares (`status`), and the page."""
