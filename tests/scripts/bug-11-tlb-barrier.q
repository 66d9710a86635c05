# With `mutant=barrier-left-out` behind `explore` the last step fails in every variant; tests/cli.sh does that.
title    A TLB purge is complete when the call that needs it returns
source   Quire, list of known faults, 11: missing completion barrier
machine  pandaboard

variant pandaboard machine=pandaboard
variant a9-smp     machine=cortex-a9-smp

explore  cpus=1 pages=1
step     cpu0, p0: map shared
step     cpu0, p0: store shared page 0
step     cpu0, p0: protect shared r
step     cpu0, p0: load shared page 0
step     cpu0, p0: store shared page 0
expect   violations == 0
