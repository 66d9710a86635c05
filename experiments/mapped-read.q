# Reading a file that somebody has mapped and nobody has touched.
#
# Before: the kernel flushes each page that read() copies from, because some area maps the file. After: only
# if a table entry maps that page. Here none does.

title    Read a file that is mapped but not touched
source   Ming Lei, "ARM: mm: lazy cache flushing on non-mapped pages", v2, linux-arm-kernel, 3 June 2013
machine  pandaboard
question coherence

variant before  coherence=mapping
variant after   coherence=page

set size = 512M

# The file is there before the experiment, and nothing of it is in the page cache.
mount   usb disk size=1G
file    f on=usb size=$size fill=random
sync
reclaim
expect  pages(f) == 0

process reader
buffer  b size=128K
map     m f shared rw

# Pass 0 reads from the device, the others from the page cache.
repeat 10 as=pass {
	time "pass $pass" us {
		read f chunk=128K into=b
	}
}

# What `before` cannot tell apart are the costs of a copy and of a flush: one is fitted, the other rests on a relative.
measure "mean of 1 to 9" us = ("pass 1" + "pass 2" + "pass 3" + "pass 4" + "pass 5" + "pass 6" + "pass 7" + "pass 8" + "pass 9") / 9 note "two unknown costs, copy and flush, and one figure before: the copy is a relative's, see docs/figures.md"

publish "mean of 1 to 9" us  before=4277182  after=3015509
publish "pass 0" us  before=22615636  after=22014717
publish "pass 1" us  before=4387851   after=3113184
publish "pass 2" us  before=4276535   after=3005244
publish "pass 3" us  before=4259821   after=3001565
publish "pass 4" us  before=4263811   after=3002748
publish "pass 5" us  before=4258486   after=3004104
publish "pass 6" us  before=4253009   after=3002188
publish "pass 7" us  before=4262809   after=2998196
publish "pass 8" us  before=4264525   after=3007255
publish "pass 9" us  before=4267795   after=3005094

# Nobody touched the map, so no entry of it was ever made. What is loaded through it now must be right, too.
load    m size=1M
expect  violations == 0
