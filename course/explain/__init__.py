"""`course explain`: replays a failing input, compares it with an oracle, and shows the first difference."""
