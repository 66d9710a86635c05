title    A map that is only read through changes neither mtime nor ctime
source   Quire, list of known faults, 41
machine  core2-t7300-kvm

variant ramfs   fs=ramfs file_times=fault
variant tmpfs   fs=tmpfs file_times=fault
variant disk    fs=disk  file_times=fault
variant subtree fs=tmpfs file_times=subtree
variant arm     machine=pandaboard fs=disk  file_times=fault
variant hp      machine=hp-a500    fs=ramfs file_times=fault

mount   m $fs
file    f on=m size=64K fill=random
file    g on=m size=64K fill=random
process p
epoch
sleep   2s
map     a f shared r
load    a
map     b g shared rw
load    b
sleep   2s
msync   b async
msync   a sync
unmap   a
unmap   b
fsync   f
fsync   g
expect  mtime(f) <= 0
expect  ctime(f) <= 0
expect  mtime(g) <= 0
expect  ctime(g) <= 0
expect  violations == 0
