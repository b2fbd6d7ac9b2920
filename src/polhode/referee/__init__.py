"""The referee: a motion that another simulator computed, compared with the true one.

`judge.check` leads: `reading` gets the numbers (`names` finds out what columns hold), `rounding` counts their digits,
`conventions` finds out what they mean, `truth` has the true motion and what the first row determines of it, `growth`
says how something drifts, `faults` tries causes of errors, and `verdict` says it all.
"""
