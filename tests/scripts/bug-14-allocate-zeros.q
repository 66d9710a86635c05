title    Pages that fallocate made and nobody wrote are zeros for everybody
source   Quire, list of known faults, 14
machine  hp-a500

variant first machine=hp-a500      tmpfs_clear=first machine.memory=12M machine.kernel_text=1M
variant ends  machine=hp-a500      tmpfs_clear=ends machine.memory=12M machine.kernel_text=1M
variant arm   machine=pandaboard   tmpfs_clear=ends machine.memory=12M machine.kernel_text=1M
variant x86   machine=core-i5-2012 tmpfs_clear=ends machine.memory=12M machine.kernel_text=1M

# All frames that will be used were full of a former owner's data.
process before
buffer  old size=(free * 4K - 256K) fill=random
exit    before

mount   ram tmpfs
process p
buffer  b size=512K
file    read on=ram
allocate read at=0 size=512K
expect  size(read) == 512K
read    read

file    mapped on=ram
allocate mapped at=0 size=512K
map     m mapped shared rw
load    m
expect  violations == 0

file    stored on=ram
allocate stored at=0 size=512K
map     s stored shared rw
store   s at=8K size=8
load    s
read    stored

# A part of a page is written, the rest never was.
file    part on=ram
allocate part at=0 size=512K
write   part at=(4K + 100) size=200
map     w part shared r
load    w
expect  violations == 0
