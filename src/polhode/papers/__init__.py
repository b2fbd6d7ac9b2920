"""The five papers, figure by figure: one package a paper, one file a figure, table, task or set of claims.

Each file has a docstring, which is the title and the caption of the figure, `run(size)`, which returns named arrays,
`check(data)`, which judges the claims of the text, and `plot(data)`, which draws what the paper draws. WHERE is the
place in the paper, LATE the reason why the quick size cannot judge the claims. `polhode reproduce` runs
them and writes a report.
"""
