"""`course explain`: replays a failing input beside an oracle and shows the first difference."""
