# Found by random walks of `quire check --machine core-i5-2012 --cpus 3 --random`: truncate takes private copies beyond the new end
# out of all spaces, one space after the other. fork on another CPU, between its two areas locks, has made the child, which
# truncate passes while it is empty; then fork copies what truncate takes out of the parent a moment later.
title    Truncate a file while a process that has private copies of it forks
source   Quire, a run that quire check found
machine  core-i5-2012
explore  cpus=2 pages=1
step     cpu0, p0: map private
step     cpu0, p0: store private page 0
step     cpu1: fork, to its point 5
step     cpu0: truncate to 0 pages
step     cpu1: goes on
step     cpu0: run p1
step     cpu0: truncate to 1 pages
step     cpu0, p1: load private page 0
expect   violations == 0
