"""Validation of a command sequence under uncertainty, before it is sent.

base         a rover on a ground as a scenario to validate on
uncertainty  what is not known, and the scenarios that follow from it
limits       what must be kept; winding, zones, clearance: how some of it is measured
quantities   values of all limits over the records of a run
members      one run, reduced to what the judgement needs
data         all runs as labelled data
judgement    probabilities, verdicts, the sentence why
validate     the whole job
table        for the terminal
worst        the worst run once more, to look at
report       the page
"""
