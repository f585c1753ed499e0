"""The course inside pytest: unwritten code is shown as *todo*."""
