"""Evals: tasks with samples, a runner that resumes, scores, judges and reports."""
