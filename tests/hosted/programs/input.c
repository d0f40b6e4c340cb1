/* Reads all of its standard input, in pieces of the size given, and tells what it was. */
#include <stdlib.h>
#include "check.h"

int main(int count, char **words)
{
	static unsigned char bytes[65536];
	size_t piece = count > 1 ? strtoul(words[1], NULL, 0) : sizeof bytes;
	unsigned long total = 0, sum = 0;
	ssize_t length;
	while ((length = read(0, bytes, piece)) > 0) {
		total += length;
		for (ssize_t i = 0; i < length; i++)
			sum = sum * 31 + bytes[i];
	}
	EXPECT(0, length);
	EXPECT(0, read(0, bytes, piece));
	printf("%lu bytes, %#lx\n", total, sum);
	return done();
}
