"""Exams: a bank of questions over the five modules, with numbers that differ from student to student."""
