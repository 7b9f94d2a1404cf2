"""Screenshots of the console for the README."""
