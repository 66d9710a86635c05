title    What was stored after the last msync is on the disk after munmap and unmount
source   Quire, list of known faults, 45
machine  pandaboard

variant fault   file_times=fault
variant never   file_times=never
variant x86     machine=core2-t7300-kvm file_times=fault
variant subtree machine=core2-t7300-kvm file_times=subtree
variant hp      machine=hp-a500 file_times=fault

mount   d disk
file    f on=d size=64K fill=random
file    g on=d size=64K fill=random
process p
map     m f shared rw
map     n g shared rw
store   m
store   n
msync   m sync
msync   n sync
store   m at=4K size=8K
store   n at=4K size=8K
unmap   m at=4K size=4K
unmap   m at=0 size=4K
unmap   m at=8K size=56K
# The other goes with its process.
exit    p
unmount d
mount   d disk
process q
file    f on=d
file    g on=d
buffer  b size=64K
read    f
read    g
expect  violations == 0
