"""The playground: a network whose every part can be changed while it trains."""
