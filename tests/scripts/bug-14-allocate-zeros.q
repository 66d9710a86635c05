title    Pages that fallocate made and nobody wrote are zeros for everybody
source   Quire, list of known faults, 14
machine  hp-a500

variant first machine=hp-a500      tmpfs_clear=first
variant ends  machine=hp-a500      tmpfs_clear=ends
variant arm   machine=pandaboard   tmpfs_clear=ends
variant x86   machine=core-i5-2012 tmpfs_clear=ends

process before
buffer  old size=2M
exit    before

mount   ram tmpfs
process p
buffer  b size=64K
file    read on=ram
allocate read at=0 size=64K
expect  size(read) == 64K
read    read

file    mapped on=ram
allocate mapped at=0 size=64K
map     m mapped shared rw
load    m
expect  violations == 0

file    stored on=ram
allocate stored at=0 size=64K
map     s stored shared rw
store   s at=8K size=8
load    s
read    stored

# A part of a page is written, the rest never was.
file    part on=ram
allocate part at=0 size=64K
write   part at=(4K + 100) size=200
map     w part shared r
load    w
expect  violations == 0
