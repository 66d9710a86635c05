# What tlb.space is for: a process ends, and the next one gets its address-space number. No TLB entry of the first may be
# left.
title    Reuse the address-space number of a process that ended
source   Quire: a run of quire check that fails with drop=tlb.space
machine  cortex-a8
explore  cpus=1 pages=1
step     cpu0, p0: map shared
step     cpu0: fork
step     cpu0: run p1
step     cpu0, p1: store shared page 0
step     cpu0: exit p1
step     cpu0: fork
step     cpu0: run p1
step     cpu0, p1: load shared page 0
expect   violations == 0
