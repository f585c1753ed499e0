"""The first divergence: the first call of a failing test that answers otherwise than an oracle, which is never the solution."""
