# The times of a file that is written through a mapping, and what keeping them right costs msync.
#
# never:   times change at the first store only: not POSIX, but cheap. The kernels of before 2008.
# fault:   msync write-protects each page again, so that the next store is seen.
# subtree: msync write-protects upper table entries, one for each 2 MiB here. Beyond the source.

title    Times of files written through mappings
source   Anton Salikhmetov, "Re: [PATCH -v6 0/2] Fixing the issue with memory-mapped file times", linux-mm, 18 January 2008
machine  core2-t7300-kvm
question file_times

variant never    file_times=never
variant fault    file_times=fault
variant subtree  file_times=subtree

# --- The times, step by step: seconds since the file was first written ---

mount   disk disk size=64M
process p
buffer  b size=4K fill=random

file    f on=disk
sleep   7s
epoch
write   f
times   begin f        mtime=0 ctime=0 atime=-7  match=fault,subtree
sleep   1s
write   f
times   write f        mtime=1 ctime=1 atime=-7  match=fault,subtree
sleep   1s
map     m f shared rw
times   mmap f         mtime=1 ctime=1 atime=2   match=fault,subtree
sleep   1s
store   m size=8
times   b f            mtime=3 ctime=3 atime=2   match=fault,subtree
sleep   1s
msync   m async
times   "msync b" f    mtime=3 ctime=3 atime=2   match=fault,subtree
sleep   1s
store   m size=8
times   c f            mtime=5 ctime=5 atime=2   match=fault,subtree
sleep   1s
msync   m async
times   "msync c" f    mtime=5 ctime=5 atime=2   match=fault,subtree
sleep   1s
store   m size=8
times   d f            mtime=7 ctime=7 atime=2   match=fault,subtree
sleep   1s
unmap   m
times   munmap f       mtime=7 ctime=7 atime=2   match=fault,subtree
sleep   1s
close   f
file    f on=disk
times   close f        mtime=7 ctime=7 atime=2   match=fault,subtree
sleep   1s
sync
times   sync f         mtime=7 ctime=7 atime=2   match=fault,subtree
read    f

# --- The cost: msync of 512 MB, every page of which was read and then stored to ---

# In memory: the source held writeback off during its runs.
set size = 512M

mount   ram tmpfs
file    big on=ram size=$size fill=none
map     all big shared rw
load    all stride=4K
repeat 3 as=run {
	store   all stride=4K
	time "run $run" {
		msync all async
	}
}
measure msync us = ("run 0" + "run 1" + "run 2") / 3 note "neither work per entry nor the hypervisor's exits are in a figure before: assumed, see docs/figures.md"

# Published: 35, 35, 35 us before; 5852, 4444, 6330 us after: their means.
publish msync us  never=35  fault=5542

load    all stride=4K order=descending
read    big at=256M size=1M
expect  violations == 0
