title    A store after a read fault marks the times of the file
source   Quire, list of known faults, 40: on every file system, tmpfs included
machine  core2-t7300-kvm

variant ramfs   fs=ramfs file_times=fault
variant tmpfs   fs=tmpfs file_times=fault
variant disk    fs=disk  file_times=fault
variant never   fs=tmpfs file_times=never
variant subtree fs=tmpfs file_times=subtree
variant arm     machine=pandaboard fs=tmpfs file_times=fault
variant hp      machine=hp-a500    fs=tmpfs file_times=fault

mount   m $fs
file    f on=m size=64K
process p
map     a f shared rw
epoch
load    a
sleep   2s
store   a at=4K size=8
msync   a async
expect  mtime(f) >= 2
expect  ctime(f) >= 2
expect  violations == 0
