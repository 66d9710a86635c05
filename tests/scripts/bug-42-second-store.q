title    Each store between two msyncs is seen by the second of them
source   Quire, list of known faults, 42: st; msync(MS_ASYNC); t1; st; msync(MS_ASYNC); t2
machine  core2-t7300-kvm

variant fault   file_times=fault
variant subtree file_times=subtree
variant arm     machine=pandaboard file_times=fault
variant hp      machine=hp-a500    file_times=fault

mount   ram tmpfs
file    f on=ram size=4M
process p
map     m f shared rw
epoch
repeat 4 as=i {
	sleep   10s
	store   m at=($i * 1M) size=8
	msync   m async
	expect  mtime(f) >= 20 * $i + 10
	# The same page again: its entry may still allow it.
	sleep   10s
	store   m at=($i * 1M) size=8
	msync   m async
	expect  mtime(f) >= 20 * $i + 20
	expect  ctime(f) >= 20 * $i + 20
}

# Another CPU, whose TLB may know an entry that allows stores.
in arm,hp {
	cpu 1
	use     p
	store   m size=8
	cpu 0
	msync   m async
	cpu 1
	sleep   10s
	store   m size=8
	msync   m async
	expect  mtime(f) >= 90
}
expect  violations == 0
