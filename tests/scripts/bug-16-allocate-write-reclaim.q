title    A page that fallocate made and a write filled keeps what was written
source   Quire, list of known faults, 16: fallocate P; W P; reclaim; R P
machine  hp-a500

variant first tmpfs_clear=first
variant ends  tmpfs_clear=ends
variant arm   machine=pandaboard tmpfs_clear=ends

mount   ram tmpfs
process p
buffer  b size=16K
file    f on=ram
allocate f at=0 size=16K
write   f at=0 size=4K
write   f at=(4K + 100) size=200 fresh
write   f at=(12K - 10) size=20 fresh
reclaim
expect  done == 0
expect  pages(f) == 4
read    f
map     m f shared r
load    m
unmap   m
reclaim
read    f
expect  violations == 0
