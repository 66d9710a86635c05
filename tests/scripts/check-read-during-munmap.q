# Found by `quire check --machine hp-a500 --interleave 4`: munmap has taken the entry out of the reverse map (its points 7 to 11)
# and has not flushed its lines yet when another CPU reads the page. The read must see the store.
title    Read a page on another CPU while munmap of it is under way
source   Quire, a run that quire check found
machine  hp-a500
explore  cpus=2 pages=2
step     cpu0, p0: map shared
step     cpu0, p0: store shared page 1
step     cpu0, p0: unmap shared, to its point 8
step     cpu1: read page 1
step     cpu0: goes on
expect   violations == 0
