"""Report the output of `course status --json` to GitHub: points for GitHub Classroom, and a table for the page of the run."""

import base64
import json
import os
import re
import sys
import tomllib
from pathlib import Path

SIGNS = {"passed": "✓", "failing": "✗", "todo": "○", "blocked": "‖", "not run": "–"}


def main() -> None:
    """Read the file on the command line, and append to the files $GITHUB_OUTPUT and $GITHUB_STEP_SUMMARY."""
    tasks = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    extra = extra_tasks(Path("course/tasks.toml").read_text(encoding="utf-8"))
    tests = [test(task) for task in tasks]
    points = sum(task["points"] for task in tasks if task["id"] not in extra)
    status = "fail" if any(task["state"] == "failing" for task in tasks) else "pass"
    result = {"version": 3, "status": status, "max_score": points, "tests": tests}
    append("GITHUB_OUTPUT", f"result={base64.b64encode(json.dumps(result).encode()).decode()}\n")
    append("GITHUB_STEP_SUMMARY", summary(tasks, sum(test["score"] for test in tests), points))


def extra_tasks(manifest: str) -> set[str]:
    """Ids of the tasks whose points are extra."""
    return {task["id"] for task in tomllib.loads(manifest)["task"] if task.get("extra")}


def test(task: dict) -> dict:
    """A task in the format of GitHub Classroom's reporter."""
    passed = task["state"] == "passed"
    return {
        "name": f"Task {task['id']} {task['title']}",
        "status": "pass" if passed else "fail",
        "score": task["points"] if passed else 0,
        "message": "" if passed else why(task),
        "test_code": f"course test {task['id']}",
        "filename": "",
        "line_no": 0,
        "duration": 0,
    }


def why(task: dict) -> str:
    """Why a task is not passed, on one line."""
    if task["state"] == "todo":
        return "not written yet"
    if task["state"] == "blocked":
        return f"blocked by Task {', '.join(task['blocked_by'])}"
    card = task.get("card") or {}
    yours = f"expected {card['expected']}, yours {card['yours']}" if card.get("yours") is not None else card.get("error")
    return " ".join(" ".join(filter(None, (card.get("says"), yours))).split())[:300]


def summary(tasks: list, score: float, points: float) -> str:
    """The table."""
    lines = [f"## {score:g} of {points:g} points", "", "| Task | | State | Tests | |", "|---|---|---|---:|---|"]
    for task in tasks:
        text = "" if task["state"] == "passed" else re.sub(r"([\\`*_\[\]<>|#&~])", r"\\\1", why(task))
        state = f"{SIGNS.get(task['state'], '?')} {task['state']}"
        lines.append(f"| {task['id']} | {task['title']} | {state} | {task['passed']} of {task['total']} | {text} |")
    return "\n".join(lines) + "\n"


def append(variable: str, text: str) -> None:
    """Append to the file that an environment variable names, or print if it is not set."""
    if name := os.environ.get(variable):
        with open(name, "a", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text)


main()
