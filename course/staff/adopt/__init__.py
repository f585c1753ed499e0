"""Convert work from the original MiniTorch course: find it, translate it, and write it as a submission or a workspace of this one."""
