# Writing to tmpfs: a new page is cleared first and then overwritten, or only what the copy left is cleared.
#
# Not published is how the pages were freed between two runs of 4 GiB, and the size of each write(). The user time
# of 0.03 s for 64 GiB says that the writes were large: some ten thousand to a million calls.

title    Write new pages of tmpfs
source   Hugh Dickins, "[PATCH 3/10] tmpfs: optimize clearing when writing", linux-mm, 12 May 2012
machine  core-i5-2012
question tmpfs_clear

variant before  tmpfs_clear=first  fs=tmpfs
variant after   tmpfs_clear=ends   fs=tmpfs
variant ramfs   tmpfs_clear=ends   fs=ramfs

set size   = 4G  default 256M
set passes = 16  default 2

mount   ram $fs
process writer
buffer  b size=64K fill=random

# The page allocator has seen some use, as in a machine that runs: one pass that does not count.
# Its file is there when the clock starts, so that each pass that counts frees one file and writes one.
file    f on=ram
write   f size=$size from=b

time writing {
	repeat $passes {
		truncate f size=0
		write f size=$size from=b
	}
}

# Published are 16 times 4 GiB, real time; the mean of three runs (before: 21.169, 21.382, 21.311; after: 18.273,
# 18.354, 18.440; ramfs: 16.860, 17.382, 17.133).
measure "16 x 4G" s = writing * (16 / $passes) * (4G / $size) note "from $passes x $size"
publish "16 x 4G" s  before=21.287  after=18.356  ramfs=17.125

# What was written is there; and a short write into a new page leaves zeros around it.
expect  size(f) == $size
read    f size=16M into=b
file    g on=ram
write   g at=5000 size=100 from=b
truncate g size=12K
read    g into=b
expect  violations == 0
