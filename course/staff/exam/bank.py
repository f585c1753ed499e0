"""All questions of the bank, and the choice of those for an exam."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from course.staff import RequestError
from course.staff.exam import module0, module1, module2, module3, module4
from course.staff.exam.question import Question, Rng

QUESTIONS: tuple[Question, ...] = tuple(
    question for module in (module0, module1, module2, module3, module4) for question in module.MODULE.questions
)
"""All questions, in the order of the modules."""

NEXT = "course-staff exam --list"


def find(ids: Sequence[str]) -> list[Question]:
    """The questions with these ids.

    Raises:
        RequestError: If there is no such question, or an id is given twice.
    """
    known = {question.id: question for question in QUESTIONS}
    for place, id in enumerate(ids):
        if id not in known:
            raise RequestError(f"--ask expected the id of a question, such as {QUESTIONS[0].id}, got {id!r}", NEXT)
        if id in ids[:place]:
            raise RequestError(f"--ask expected each question once, got {id} again", NEXT)
    return [known[id] for id in ids]


def choose(seed: str, modules: Sequence[int], count: int) -> list[Question]:
    """The questions of an exam: the same for every student, and evenly from all modules.

    Within a module, tasks and kinds that have been chosen less often come first.

    Args:
        seed: The seed of the exam.
        modules: The modules that it covers.
        count: The number of questions.

    Raises:
        RequestError: If the modules have fewer questions.
    """
    of_module = {module: [question for question in QUESTIONS if question.module == module] for module in modules}
    available = sum(map(len, of_module.values()))
    if not 1 <= count <= available:
        listed = f"module{'s' if len(modules) > 1 else ''} {', '.join(map(str, modules))}"
        raise RequestError(f"--questions expected a number from 1 to {available} for {listed}, got {count}", NEXT)
    left = {module: Rng(seed, "choice", str(module)).shuffle(questions) for module, questions in of_module.items()}
    chosen: list[Question] = []
    used: Counter[str] = Counter()
    while len(chosen) < count:
        module = min((module for module in modules if left[module]), key=lambda module: (used[str(module)], module))
        best = min(left[module], key=lambda question: (max(used[task] for task in question.tasks), used[question.kind]))
        left[module].remove(best)
        chosen.append(best)
        used.update([str(module), best.kind, *best.tasks])
    return sorted(chosen, key=QUESTIONS.index)
