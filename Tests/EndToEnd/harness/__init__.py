"""What the end-to-end tests and the demo share: real processes, independent peers, a checker."""
