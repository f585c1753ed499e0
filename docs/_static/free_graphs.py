"""Frees a computational graph node by node.

When an object is freed, Python frees what only this object referred to in a nested call. It watches its stack and goes on without nesting
when little is left. In a browser, Python sees only its own stack, not the browser's, which a graph of about 1,000 steps fills.
"""


def free_in_turn(history: type) -> None:
    """Free the inputs of each object of the class History after the object itself, not within the call that frees it."""
    waiting: list[object] = []
    freeing = False

    def free(self: object) -> None:
        nonlocal freeing
        waiting.append(getattr(self, "inputs", ()))
        self.inputs = ()
        if not freeing:
            freeing = True
            try:
                while waiting:
                    waiting.pop()  # frees them: the histories that only they referred to add their inputs to the list
            finally:
                freeing = False

    history.__del__ = free
