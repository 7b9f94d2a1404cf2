"""Screenshots of the console for the README and the guides."""
