# With `mutant=barrier-left-out` behind `explore` the last step fails in every variant; tests/cli.sh does that.
title    Maintenance for a device is complete before the device reads
source   Quire, list of known faults, 11: missing completion barrier
machine  pandaboard

variant pandaboard machine=pandaboard
variant a9-smp     machine=cortex-a9-smp
variant a8         machine=cortex-a8
variant mpcore     machine=arm11-mpcore

explore  cpus=1 pages=1
step     cpu0: write page 0
step     cpu0: device out page 0
expect   violations == 0
