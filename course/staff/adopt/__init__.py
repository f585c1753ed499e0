"""Work of the original MiniTorch course, brought into this one: found, translated, and put into a workspace or a submission."""
