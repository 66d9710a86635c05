title    msync leaves the page cache alone
source   Quire, list of known faults, 44
machine  core2-t7300-kvm

variant ramfs fs=ramfs
variant tmpfs fs=tmpfs
variant disk  fs=disk
variant arm   machine=pandaboard fs=disk

mount   m $fs
file    f on=m size=64K fill=random
process p
map     m f shared rw
store   m at=8K size=16K
msync   m async
expect  pages(f) == 16
msync   m sync
expect  pages(f) == 16
msync   m invalidate
expect  pages(f) == 16
msync   m sync invalidate
expect  pages(f) == 16
load    m
expect  violations == 0
