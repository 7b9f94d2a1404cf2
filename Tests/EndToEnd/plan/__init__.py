"""What `pollerd simulate` plans for a traffic, held against a real cluster that has it: `ops/plan`."""
