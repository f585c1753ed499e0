"""What comes out of grading: each file here makes one kind of output from results, and from nothing else."""
