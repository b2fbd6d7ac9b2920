"""The five papers, figure by figure: one package a paper, one file a figure, table, task or set of claims.

Each file has TITLE and CAPTION, `run(size)`, which returns named arrays, `check(data)`, which judges the claims of the
text, and `plot(data)`, which draws what the paper draws. `polhode reproduce` runs them and writes a report.
"""
