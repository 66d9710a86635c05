# What coherence.unmap.page is for: of two entries at different colours both go at once. munmap of the first has taken it out of the
# reverse map and has not flushed its lines yet, when the second goes: the page remembers one colour only, so the first one's
# lines are flushed now. Else the first colour, mapped again in between, shows what was there before the kernel wrote.
title    Two munmaps at once of a page at two colours
source   Quire: a run that fails with drop=coherence.unmap.page, at points 7 to 9
machine hp-a500
explore cpus=2 pages=1
step    cpu0, p0: map alias
step    cpu0: fork
step    cpu1: run p1
step    cpu1, p1: map shared
step    cpu1, p1: load shared page 0
step    cpu1: run p0
step    cpu1, p0: load alias page 0
step    cpu1: run p1
step    cpu1, p1: load shared page 0
step    cpu0, p0: unmap alias, to its point 8
step    cpu1, p1: unmap shared
step    cpu1: write page 0
step    cpu1, p1: load alias page 0
expect  violations == 0
