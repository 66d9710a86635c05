# Found by `quire check --machine hp-a500 --interleave --depth 3`: munmap has taken the entry out of the reverse map and has
# not flushed its lines yet when another CPU reads the page. The read must see the store.
title    Read a page on another CPU while munmap of it is under way
source   Quire, a run that quire check found
machine  hp-a500
explore  cpus=2 pages=2
step     cpu0, p0: map shared
step     cpu0, p0: store shared page 1
step     cpu0, p0: unmap shared, and at its point 8 cpu1: read page 1
expect   violations == 0
