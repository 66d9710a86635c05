# What coherence.user-map.colour is for: munmap has taken the entry out of the reverse map and has not flushed its dirty
# lines yet when another process, on another CPU, maps the page at another colour. It must see the store.
title    Map a page at another colour while munmap of it is under way
source   Quire: a run of quire check that fails with drop=coherence.user-map.colour
machine  hp-a500
explore  cpus=2 pages=1
step     cpu0, p0: map shared
step     cpu0, p0: map alias
step     cpu0: fork
step     cpu1: run p1
step     cpu0, p0: store alias page 0
step     cpu0, p0: unmap alias, to its point 6
step     cpu1, p1: load shared page 0
step     cpu0: goes on
expect   violations == 0
