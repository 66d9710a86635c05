# Unmapping 16 MB where caches are virtually indexed: flush by line, or the whole cache?
#
# Before: SMP kernels of then went over the range line by line, for the D and for the I cache. A line whose page has no
# translation costs a trap. 0.8 to 0.9 s for 2 x 262144 lines is about 700 cycles a line: far more than a flush that
# finds its page. So the pages were most likely never touched (an inference: the test program was not published).
# After: from a threshold on, measured at boot, the whole cache. UP kernels had a fixed threshold of 0.5 MB.

title    Unmap a large range
source   Randolph Chung, "Improving performance of munmap", parisc-linux, 2004
machine  hp-a500
question flush_range

variant before  flush_range=line
variant after   flush_range=calibrated
variant up      flush_range=fixed:512K  machine.cpus=1

process p
map     m anonymous private rw size=16M
time munmap ms {
	unmap m
}

# Published: 0.8 to 0.9 s before (here 850 ms), about 5 ms on UP. No figure after, but the threshold: 2 MB.
publish munmap ms  before=850  up=5
in after,up measure "flush from" K = threshold(data)
publish "flush from" K  after=2048

# A threshold may change cost, never results: on both sides of it, data of a process and of a file come through.
mount   ram ramfs
file    f on=ram size=4M fill=random
buffer  b size=64K
repeat 2 {
	map     small f shared rw size=64K
	map     large f shared rw
	map     heap anonymous private rw size=4M
	store   small
	load    large
	store   large at=1M size=1M
	store   heap
	load    heap
	unmap   small
	unmap   large
	unmap   heap
	read    f into=b
}
map     again anonymous private rw size=4M
load    again
expect  violations == 0
