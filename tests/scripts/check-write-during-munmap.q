# Found by random walks of `quire check --machine hp-a500 --pages 1 --random --interleave 24`: the kernel has written a mapped
# page and is about to flush it when munmap on another CPU removes the page's last entry. The flush must take place all the same:
# nothing else would tell the next mapping, at another colour, of the kernel's lines.
title    Write a page while munmap of it is under way on another CPU
source   Quire, a run that quire check found
machine  hp-a500
explore  cpus=2 pages=1
step     cpu0, p0: map shared
step     cpu0: read page 0
step     cpu0, p0: protect shared rx
step     cpu1, p0: execute shared page 0
step     cpu0: write page 0, to its point 7
step     cpu1, p0: unmap shared
step     cpu0: goes on
step     cpu0, p0: map private
step     cpu1, p0: load private page 0
expect   violations == 0
