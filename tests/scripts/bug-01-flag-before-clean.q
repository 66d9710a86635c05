# With `mutant=flag-before-clean` behind `explore` the last step fails; tests/cli.sh does that.
title    The page counts as clean only when it is: two processes on two CPUs execute it for the first time at once
source   Quire, list of known faults, 1: flag set before the maintenance is done
machine  hp-a500

explore  cpus=2 pages=1
step     cpu0, p0: map anon
step     cpu0, p0: store anon page 0
step     cpu0, p0: protect anon rx
step     cpu0: fork
step     cpu1: run p1
step     cpu0, p0: execute anon page 0, to its point 3
step     cpu1, p1: execute anon page 0
expect   violations == 0
