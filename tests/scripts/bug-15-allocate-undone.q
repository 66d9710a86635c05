title    fallocate that fails takes away what it added, and nothing else
source   Quire, list of known faults, 15: write page 2; fallocate 0..9 fails at 5
machine  core-i5-2012

variant first tmpfs_clear=first
variant ends  tmpfs_clear=ends

mount   ram tmpfs size=40K
process p
buffer  b size=4K
file    other on=ram size=20K fill=random
file    f on=ram
write   f at=8K size=4K
expect  pages(f) == 1
epoch
sleep   2s
expect-error ENOSPC { allocate f at=0 size=40K }
expect  pages(f) == 1
expect  size(f) == 12K
expect  ctime(f) <= 0
expect  mtime(f) <= 0
read    f at=8K
read    other

# What was taken back may be used again: four pages are left.
allocate f at=12K size=16K
expect  pages(f) == 5
expect  ctime(f) >= 2
expect-error ENOSPC { allocate f at=28K size=4K }
read    f at=8K size=4K
expect  violations == 0
