# With `mutant=tlb-after-flush` behind `explore` the last step fails; tests/cli.sh does that.
title    Translations go first, then lines: a load on another CPU fills one as truncate takes a page out of a mapping
source   Quire, list of known faults, 21: flush, then TLB purge
machine  hp-a500

explore  cpus=2 pages=1
step     cpu0, p0: map alias
step     cpu1, p0: load alias page 0
step     cpu0: truncate to 0 pages, to its point 14
step     cpu1, p0: load alias page 0
step     cpu0: goes on
step     cpu0: write page 0
step     cpu1, p0: load alias page 0
expect   violations == 0
