"""What the results of a task depend on, in a workspace of the whole course."""

from tests.course.prepared import course_files
from tests.course.test_dependencies import affected


def test_in_a_workspace_an_edit_of_a_file_leaves_the_tasks_as_they_are_that_do_not_use_it(tmp_path):
    for path, content in course_files(4).items():
        if path.endswith((".py", ".toml")):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert affected(tmp_path, "minitorch/nn/functional.py", "# changed\n") == ["4.3", "4.4", "4.5"]
    assert affected(tmp_path, "minitorch/fast_conv.py", "# changed\n") == ["4.1", "4.2", "4.5", "4.4b"]
