# With `mutant=entry-barrier-left-out` behind `explore` the last step fails in every variant; tests/cli.sh does that.
title    The barrier after a table entry: the walker does not go before the clean
source   Quire, list of known faults, 38: clean without a barrier
machine  cortex-a8

variant a8     machine=cortex-a8
variant mpcore machine=arm11-mpcore

explore  cpus=1 pages=1
step     cpu0, p0: map shared
step     cpu0, p0: load shared page 0
expect   violations == 0
