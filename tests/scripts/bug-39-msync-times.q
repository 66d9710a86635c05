title    msync marks the times of a file that was stored to, and of no other
source   Quire, list of known faults, 39; POSIX, mmap: st_mtime and st_ctime
machine  core2-t7300-kvm

variant ramfs   fs=ramfs file_times=fault
variant tmpfs   fs=tmpfs file_times=fault
variant disk    fs=disk  file_times=fault
variant subtree fs=tmpfs file_times=subtree
variant arm     machine=pandaboard fs=disk  file_times=fault
variant hp      machine=hp-a500    fs=ramfs file_times=fault

mount   m $fs
file    f on=m size=4M
file    g on=m size=8K
process p
map     a f shared rw
map     b g shared rw
load    b
epoch

# Each kind of msync, by itself.
repeat 3 as=i {
	sleep   10s
	store   a at=($i * 4K) size=8
	sleep   1s
	msync   a async
	expect  mtime(f) >= 10 + $i * 30
	expect  ctime(f) >= 10 + $i * 30
	sleep   9s
	store   a at=($i * 4K) size=8
	msync   a sync
	expect  mtime(f) >= 20 + $i * 30
	expect  ctime(f) >= 20 + $i * 30
	sleep   10s
	store   a at=($i * 4K) size=8
	msync   a invalidate
	expect  mtime(f) >= 30 + $i * 30
	expect  ctime(f) >= 30 + $i * 30
}

# No store, no mark.
sleep   1s
msync   a sync
msync   a async
msync   b sync
msync   b async
expect  mtime(f) < 91
expect  ctime(f) < 91
expect  mtime(g) <= 0
expect  ctime(g) <= 0
expect  violations == 0
