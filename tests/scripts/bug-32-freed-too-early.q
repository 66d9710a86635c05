# With `mutant=tlb-after-free` behind `explore` the last step fails in every variant; tests/cli.sh does that.
title    A frame is free when no CPU can reach it: a load on another CPU as munmap gives it back
source   Quire, list of known faults, 32: a frame freed before every CPU has dropped its entry
machine  core-i5-2012

variant x86    machine=core-i5-2012
variant arm    machine=pandaboard

explore  cpus=2 pages=1
step     cpu0, p0: map private
step     cpu0, p0: store private page 0
step     cpu1, p0: unmap private, to its point 8
step     cpu0, p0: load private page 0
expect   violations == 0
