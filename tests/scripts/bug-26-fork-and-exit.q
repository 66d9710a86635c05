title    What is in the caches at fork and at exit is not lost
source   Quire, list of known faults, 26: fork must write back; only exit may drop, and only private pages
machine  hp-a500

variant line  flush_range=line fs=ramfs
variant fixed flush_range=fixed:1M fs=ramfs
variant whole flush_range=whole fs=ramfs
variant split flush_range=calibrated-split fs=ramfs
variant arm   machine=pandaboard fs=ramfs
variant disk  machine=pandaboard fs=disk
variant x86   machine=core2-t7300-kvm fs=ramfs

mount   m $fs
file    f on=m size=64K fill=random
process p
map     s f shared rw
map     a anonymous private rw size=64K
map     z anonymous shared rw size=64K
store   s
store   a
store   z
fork    q
# The parent goes at once; all that it stored is in the caches only.
exit    p
use     q
load    a
load    s
load    z
store   s at=4K size=4K
store   z at=8K size=4K
fork    r
exit    q
process reader
buffer  b size=64K
read    f
use     r
load    a
load    z
load    s
exit    r
use     reader
fsync   f
read    f
expect  violations == 0
