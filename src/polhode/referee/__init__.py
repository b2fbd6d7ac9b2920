"""The referee: a motion that another simulator computed, compared with the true one.

`judge.check` leads. `reading` reads the numbers of a log, and `names` finds out what its columns hold. `rounding`
counts digits, `conventions` finds out what the numbers mean, and `truth` computes the true motion from the first row.
`noise` finds white noise, `rows` compares rows with each other and rates with attitudes, `causes` fits causes of
errors, `faults` puts them into words, and `conserved` checks energy and momentum. `growth` says how something drifts.
`verdict` is what comes back.
"""
