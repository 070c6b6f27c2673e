"""Print the report on today's order."""

from bakery.report import report

print(report({"bread": 2, "roll": 10}))
