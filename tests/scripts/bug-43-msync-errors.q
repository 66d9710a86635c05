title    msync over a hole syncs what is on both sides; what it must refuse it refuses
source   Quire, list of known faults, 43; POSIX, msync
machine  core2-t7300-kvm

variant fault   file_times=fault
variant subtree file_times=subtree
variant arm     machine=pandaboard file_times=fault

mount   d disk
file    a on=d size=4K fill=random
file    b on=d size=4K fill=random
process p
map     x a shared rw address=0x40000000
map     y b shared rw address=0x40002000
epoch
sleep   2s
store   x
store   y
expect-error ENOMEM { msync x sync size=12K }
expect  mtime(a) >= 2
expect  mtime(b) >= 2
sleep   2s
store   x
store   y
expect-error ENOMEM { msync x async size=12K }
sleep   2s
store   x
store   y
expect-error ENOMEM { msync x sync size=12K }
expect  mtime(a) >= 6
expect  mtime(b) >= 6

# Both are on the disk: what is written since is lost with the process's maps, and nothing else.
expect-error EINVAL { msync x async sync }
map     l b shared rw locked
expect-error EBUSY { msync l invalidate }
expect-error EBUSY { msync l invalidate sync }
msync   l sync
exit    p
unmount d
mount   d disk
process q
file    a on=d
file    b on=d
buffer  r size=4K
read    a
read    b
expect  violations == 0
