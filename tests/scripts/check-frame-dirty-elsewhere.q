# What coherence.copy.target is for, under coherence=exact: a frame is freed with dirty lines of one colour, and cleared for
# a user at another. The old lines must not be written back over what comes after.
title    Clear a frame that still has dirty lines of another colour
source   Quire: a run of quire check that fails with drop=coherence.copy.target
machine  hp-a500
policy   coherence=exact
explore  cpus=1 pages=1
step     cpu0, p0: map anon
step     cpu0, p0: map alias
step     cpu0, p0: store alias page 0
step     cpu0: truncate to 0 pages
step     cpu0, p0: load anon page 0
step     cpu0: truncate to 1 pages
step     cpu0, p0: unmap anon
step     cpu0, p0: load alias page 0
expect   violations == 0
