title    msync of one page costs the same in a small file and in a large one
source   Quire, list of known faults, 50
machine  core2-t7300-kvm

variant fault   file_times=fault
variant subtree file_times=subtree
variant arm     machine=pandaboard file_times=fault

mount   d disk
file    small on=d size=16K
file    large on=d size=16M
fsync   small
fsync   large
process p
map     s small shared rw
map     l large shared rw

# Everything is dirty and may be stored to.
store   s
store   l
time    small-async us { msync s async at=8K size=4K }
time    large-async us { msync l async at=8K size=4K }
time    small-sync us  { msync s sync at=8K size=4K }
time    large-sync us  { msync l sync at=8K size=4K }
expect  "large-async" < "small-async" * 2
expect  "large-sync" < "small-sync" * 2
expect  violations == 0
