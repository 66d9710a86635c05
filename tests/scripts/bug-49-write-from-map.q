title    write() from a map of the same file, while the map is stored to and the times are marked
source   Quire, list of known faults, 49: no deadlock between stamping times and writing
machine  core2-t7300-kvm

variant fault   fs=tmpfs file_times=fault
variant subtree fs=tmpfs file_times=subtree
variant disk    fs=disk  file_times=fault
variant arm     machine=pandaboard fs=disk  file_times=fault
variant hp      machine=hp-a500    fs=ramfs file_times=fault

mount   m $fs
file    f on=m size=64K fill=random
process p
map     w f shared rw
epoch
repeat 3 as=i {
	sleep   10s
	store   w at=($i * 8K) size=8
	write   f at=(32K + $i * 4K) size=4K from=w skip=($i * 8K)
	store   w at=(32K + $i * 4K) size=8
	msync   w async
	write   f at=($i * 8K) size=4K from=w skip=(32K + $i * 4K)
	msync   w sync
	expect  mtime(f) >= 10 + $i * 10
}
# read() into the map: the copy itself stores to the file, by a fault, and marks its times.
unmap   w
map     v f shared rw
sleep   10s
read    f at=0 size=4K into=v skip=20K
expect  mtime(f) >= 40
load    v
buffer  b size=64K
read    f into=b
expect  violations == 0
