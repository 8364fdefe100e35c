// Package corpus makes the documents that the benchmarks read and copy: always the same
// ones for the same seed and shape, on whatever machine.
//
//	W     one folder with 20,000 documents of about 1 KB
//	M     10 mandators with 5,000 folders and 50,000 documents of about 2 KB
//	M500  the first mandator of M: 500 folders, 5,000 documents
//	S     2 mandators with 200 folders and 2,000 documents of about 150 KB, and beside
//	      them six scans of 20 MiB and one document of 512 MiB
//
// To be copied in there are 500 documents of 150 KB, and a file of 512 MiB. Names are those
// of a German office. Every document is a PDF that a reader accepts, of bytes that do not
// compress and that no other document has.
package corpus
