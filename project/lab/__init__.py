"""The laboratory's machinery: what its programs and its pages share."""
