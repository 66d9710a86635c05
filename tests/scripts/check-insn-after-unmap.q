# What flush-range.unmap.insn is for: the page is written while it is mapped at another colour only. That flushes I lines
# where the page is mapped; those of the colour at which it was executed before must have gone with that mapping.
title    Execute a page at a colour at which it was executed before it was written
source   Quire: a run of quire check that fails with drop=flush-range.unmap.insn
machine  hp-a500
explore  cpus=1 pages=1
step     cpu0, p0: map shared
step     cpu0, p0: map alias
step     cpu0, p0: protect alias rx
step     cpu0, p0: execute alias page 0
step     cpu0, p0: unmap alias
step     cpu0, p0: load shared page 0
step     cpu0: write page 0
step     cpu0, p0: map alias
step     cpu0, p0: protect alias rx
step     cpu0, p0: execute alias page 0
expect   violations == 0
