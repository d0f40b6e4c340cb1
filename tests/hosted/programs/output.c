/* Writing: to both streams, in pieces, of none, to what is not open; every value of a byte goes through. */
#include <sys/uio.h>
#include <fcntl.h>
#include "check.h"

int main(void)
{
	EXPECT(4, write(1, "out\n", 4));
	EXPECT(4, write(2, "err\n", 4));
	EXPECT(0, write(1, "", 0));
	struct iovec pieces[4] = { { "a", 1 }, { NULL, 0 }, { "bc", 2 }, { "\n", 1 } };
	EXPECT(4, writev(1, pieces, 4));
	EXPECT(0, writev(1, pieces, 0));
	FAILS(EINVAL, writev(1, pieces, -1));
	FAILS(EINVAL, writev(1, pieces, 1025));
	FAILS(EBADF, write(3, "x", 1));
	FAILS(EBADF, write(-1, "x", 1));
	FAILS(EBADF, write(0x7fffffff, "x", 1));
	FAILS(EBADF, close(3));
	FAILS(EFAULT, write(1, (void *)8, 1));
	static char large[20000];
	memset(large, 'x', sizeof large);
	for (size_t i = 99; i < sizeof large; i += 100)
		large[i] = '\n';
	size_t done_bytes = 0;
	while (done_bytes < sizeof large) {
		ssize_t written = write(1, large + done_bytes, sizeof large - done_bytes);
		CHECK(written > 0, "write of much is %zd", written);
		if (written <= 0)
			break;
		done_bytes += written;
	}
	EXPECT(0, close(2));
	FAILS(EBADF, write(2, "x", 1));
	FAILS(EBADF, close(2));
	return done();
}
