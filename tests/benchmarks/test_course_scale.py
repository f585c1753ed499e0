"""The estimate for a large class: the schedule, the order of the queue, and submissions of every kind."""

import json

import pytest

from benchmarks import course_scale


def test_the_first_free_worker_takes_the_next_submission():
    assert course_scale.makespan([3, 1, 1, 1, 4], 2) == 7  # 3 + 4 on one worker, 1 + 1 + 1 on the other, free at the same time
    assert course_scale.makespan([4, 3, 1, 1, 1], 2) == 5
    assert course_scale.makespan([2, 2], 64) == 2


def test_the_table_gives_the_ratio_for_each_number_of_workers(capsys, tmp_path):
    (tmp_path / "seconds.json").write_text(json.dumps([10.0, 10.0]))
    course_scale.main(["--seconds", str(tmp_path / "seconds.json")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == [
        "2 submissions: mean 10 s, median 10 s, longest 10 s",
        "500 on 2 cores: 0.7 h (0.7 to 0.7 in 90 % of draws); at most 8 h: reached",
    ]
    assert lines[-1].split() == ["64", *["1.02", "(1.02)"] * 3]  # 500 of 10 s on 64 workers: 8 rounds where 7.8 would be ideal


def test_too_few_submissions_are_an_error(capsys, tmp_path):
    (tmp_path / "seconds.json").write_text("[1.0]")
    with pytest.raises(SystemExit):
        course_scale.main(["--seconds", str(tmp_path / "seconds.json")])
    assert "expected at least two graded submissions, got 1; grade more, or omit the folder" in capsys.readouterr().err
